"""The rules of semantic scoring as pure functions and value types; numpy is all that this package loads."""
