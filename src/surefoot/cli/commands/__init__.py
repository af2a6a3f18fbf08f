"""The commands, one file each; `surefoot.cli` imports them when they are used."""
