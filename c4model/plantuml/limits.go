package plantuml

// The limits keep the cost of a hostile or broken folder known in advance. Each is far above what models need: large
// diagrams have some hundred calls in 30 kB.
const (
	// MaxBytes bounds all files of one model together; a file included twice counts twice, so that includes cannot
	// multiply work.
	MaxBytes = 4 << 20
	// MaxFiles bounds the files of one model, included ones too, and MaxEntries those of its folder.
	MaxFiles   = 2_000
	MaxEntries = 50_000
	// MaxDepth is how deep below the folder of a model its files may lie.
	MaxDepth = 12
	// MaxIncludeDepth bounds includes within includes.
	MaxIncludeDepth = 16
	// MaxCallBytes bounds one call, its lines joined and its definitions replaced.
	MaxCallBytes = 16 << 10
	// MaxCallLines bounds the lines that one call is spread over.
	MaxCallLines = 200
	// MaxExpandedBytes bounds what definitions make of a model in total.
	MaxExpandedBytes = 8 << 20
	// MaxArguments bounds those of one call; the longest macro takes fifteen.
	MaxArguments = 64
	// MaxNesting bounds blocks and conditions within each other.
	MaxNesting = 64
	// MaxElements and MaxRelationships bound the model itself; beyond them nobody reviews it.
	MaxElements      = 10_000
	MaxRelationships = 50_000
	// MaxIdentifierBytes bounds one alias; keys are made of several.
	MaxIdentifierBytes = 128
	// MaxTags bounds the tags of one element or relationship, kept unique by comparing them.
	MaxTags = 100
	// MaxDefinitions bounds the names that a file defines.
	MaxDefinitions = 2_000
	// MaxWarnings bounds the warnings of one model; the last one says how many more there were.
	MaxWarnings = 200
)
