"""Shared code of the scripts of this directory. Standard library only; public domain (CC0-1.0)."""
