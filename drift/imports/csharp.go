package imports

func extractCSharp(text []byte) Facts { return Facts{} }
