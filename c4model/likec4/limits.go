package likec4

// The limits keep the cost of a hostile or broken folder known in advance. Each is far above what models need: the
// largest model seen while building this reader has some 150 kB in 40 files.
const (
	// MaxBytes bounds all files of one model together.
	MaxBytes = 4 << 20
	// MaxFiles bounds the files of one model, and MaxEntries those of its folder.
	MaxFiles   = 2_000
	MaxEntries = 50_000
	// MaxDepth is how deep below the folder of a model its files may lie.
	MaxDepth = 12
	// MaxNesting bounds blocks within blocks, and the path of an element once extensions are in place.
	MaxNesting = 64
	// MaxElements and MaxRelationships bound the model itself; beyond them nobody reviews it.
	MaxElements      = 10_000
	MaxRelationships = 50_000
	// MaxIdentifierBytes bounds one name; keys are made of several.
	MaxIdentifierBytes = 128
	// MaxTags bounds the tags of one element or relationship, kept unique by comparing them.
	MaxTags = 100
	// MaxWarnings bounds the warnings of one model; the last one says how many more there were.
	MaxWarnings = 200
)
