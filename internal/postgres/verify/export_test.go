package verify

// Columns are all columns of bytes that the verification knows, for a test that compares them with the schema.
func Columns() map[string]bool {
	known := map[string]bool{}
	for _, c := range sealed {
		known[c.table+"."+c.column] = true
	}
	for _, c := range plain {
		known[c] = true
	}
	return known
}
