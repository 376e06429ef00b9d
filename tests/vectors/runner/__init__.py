"""What the scripts of this folder share. Standard library only; public domain (CC0-1.0)."""
