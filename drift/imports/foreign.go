package imports

import (
	"path"
	"strings"
)

// foreignFolders hold what a project did not write: other people's code, build output, generated code, data of tests.
var foreignFolders = map[string]bool{
	"vendor": true, "node_modules": true, "third_party": true, "third-party": true, "thirdparty": true, "bower_components": true,
	"dist": true, "build": true, "out": true, "target": true, "bin": true, "obj": true, "coverage": true, "__pycache__": true,
	"generated": true, "gen": true, "__generated__": true,
	"testdata": true, "test_data": true, "test-data": true, "fixtures": true, "__fixtures__": true, "__snapshots__": true, "__mocks__": true, "mocks": true,
}

// IsForeign tells by the names of the folders around a file that the project did not write it: they are such that by convention
// hold generated, vendored or test data files, or they are hidden. Case does not matter.
func IsForeign(file string) bool {
	for folder := path.Dir(file); folder != "." && folder != "/"; folder = path.Dir(folder) {
		if base := path.Base(folder); foreignFolders[strings.ToLower(base)] || strings.HasPrefix(base, ".") {
			return true
		}
	}
	return false
}
