package postgres

// What only tests of this package need.
var (
	MigrateFS    = migrate      // Migrate with other migrations than those of this binary
	BringForward = bringForward // what Open does about a version
	Beside       = beside       // the name of a database that belongs to another
	ConnectOwner = connectOwner // what builds indexes
)
