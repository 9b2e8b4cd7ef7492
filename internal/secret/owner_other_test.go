//go:build !unix

package secret_test

import "io/fs"

func sameOwner(fs.FileInfo, fs.FileInfo) bool { return true }
