package imports

func extractPython(text []byte) Facts { return Facts{} }
