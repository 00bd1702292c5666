"""A folder with the layout of a Maven repository, and settings with which Spark asks no other."""

import zipfile
from pathlib import Path

POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>{group}</groupId>
  <artifactId>{artifact}</artifactId>
  <version>{version}</version>
{needs}</project>
"""
NEED = """  <dependencies><dependency>
    <groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>
  </dependency></dependencies>
"""
# Spark adds what `--repositories` names behind the default resolver, which else is the person's own two caches, Maven Central
# and spark-packages.org, in this order; each is asked before the next.
NOBODY = """<ivysettings>
  <settings defaultResolver="nobody"/>
  <resolvers><chain name="nobody"/></resolvers>
</ivysettings>
"""


class MavenFolder:
    """`add` jars to it, and give its `url` as a repository."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def url(self) -> str:
        return f"{self.folder.as_uri()}/"

    def add(self, name: str, files: "dict[str, str] | None" = None, needs: str = "") -> Path:
        """Add `group:artifact:version`, a jar that holds these files; `needs` is another such name. Returns the jar."""
        group, artifact, version = name.split(":")
        place = self.folder.joinpath(*group.split("."), artifact, version)
        place.mkdir(parents=True)
        need = NEED.format(**_parts(needs)) if needs else ""
        (place / f"{artifact}-{version}.pom").write_text(POM.format(**_parts(name), needs=need))
        jar = place / f"{artifact}-{version}.jar"
        with zipfile.ZipFile(jar, "w") as packed:
            packed.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\n")
            for inside, text in (files or {}).items():
                packed.writestr(inside, text)
        return jar

    def settings(self) -> Path:
        """A file for `spark.jars.ivySettings`: repositories that `--repositories` names are asked, and no others."""
        place = self.folder / "ivysettings.xml"
        place.write_text(NOBODY)
        return place


def _parts(name: str) -> "dict[str, str]":
    return dict(zip(("group", "artifact", "version"), name.split(":"), strict=True))
