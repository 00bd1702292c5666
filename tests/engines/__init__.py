"""Docker engines for tests, with all that is theirs in one folder each: as root on Debian."""
