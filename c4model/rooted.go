package c4model

import "strings"

// Rooted makes a pattern of a folder of a repository one of the whole repository. The pattern is normalized
// (NormalizePattern); "" is the top of the repository, where it stays as it is. What matches at any depth of the folder, a name
// without slash, does so still, and nowhere else.
func Rooted(folder, pattern string) string {
	if folder == "" || folder == "." {
		return pattern
	}
	folder = globMeta.Replace(folder) // it is the name of one folder, even if it looks like a glob
	trimmed := strings.TrimPrefix(pattern, "/")
	if !strings.Contains(strings.TrimSuffix(trimmed, "/"), "/") && trimmed == pattern {
		return folder + "/**/" + pattern
	}
	return folder + "/" + trimmed
}
