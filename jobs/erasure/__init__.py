"""Erase one member: rows, files, staging and work folders; what stays is a tombstone of hashes and decisions."""
