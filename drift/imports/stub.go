package imports

type nothing struct{}

func (nothing) resolve(string, Import) Resolution  { return unresolved("not yet") }
func (nothing) dependencies() []ManifestDependency { return nil }

func newGoResolver(*repository) resolver     { return nothing{} }
func newPythonResolver(*repository) resolver { return nothing{} }
func newRustResolver(*repository) resolver   { return nothing{} }
func newCSharpResolver(*repository) resolver { return nothing{} }
