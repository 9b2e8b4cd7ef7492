package structurizr

// The limits keep the cost of a hostile or broken file known in advance. Each is far above what models need: the
// largest hand-written model seen while building this reader has 42 kB, 930 lines, 40 elements and 117 relationships.
const (
	// MaxDSLBytes bounds all DSL files of one model together; a file included twice counts twice, so that includes
	// cannot multiply work.
	MaxDSLBytes = 4 << 20
	// MaxJSONBytes bounds a workspace.json. Exports carry view layouts, documentation and images, some six times the
	// size of the DSL they come from.
	MaxJSONBytes = 32 << 20
	// MaxJSONObjects bounds the objects in a workspace.json, since "{}" costs two bytes in the file and hundreds in
	// memory. Every element, relationship, property list and view entry is one.
	MaxJSONObjects = 300_000
	// MaxLineBytes bounds one line, continuation lines and text blocks included: styles hold icons as data URIs, which
	// reach some hundred kB.
	MaxLineBytes = 1 << 20
	// MaxExpandedBytes bounds what "${name}" makes of a model in total: constants that hold constants double at each
	// step.
	MaxExpandedBytes = 8 << 20
	// MaxNesting bounds open blocks. Four levels of elements, nested groups and parallel sequences of dynamic views stay
	// under twenty.
	MaxNesting = 64
	// MaxIncludeDepth bounds includes within includes, and workspaces that extend workspaces.
	MaxIncludeDepth = 16
	// MaxIncludedFiles bounds the files of one model; also those of one included folder.
	MaxIncludedFiles = 2_000
	// MaxElements and MaxRelationships bound the model itself; beyond them nobody reviews it.
	MaxElements      = 10_000
	MaxRelationships = 50_000
	// MaxIdentifierBytes bounds one identifier; keys are made of up to three.
	MaxIdentifierBytes = 128
	// MaxTags bounds the tags of one element or relationship, kept unique by comparing them.
	MaxTags = 100
	// MaxWarnings bounds the warnings of one model; the last one says how many more there were.
	MaxWarnings = 200
	// MaxBulkSteps bounds how often !elements and !relationships touch something: a few lines can name everything.
	MaxBulkSteps = 5_000_000
)
