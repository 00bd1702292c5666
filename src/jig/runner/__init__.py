"""The half of jig that lives on the machine: standard library only, Python 3.6 and newer, shipped as it stands here."""
