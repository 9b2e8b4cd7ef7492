package imports

func extractRust(text []byte) Facts { return Facts{} }
