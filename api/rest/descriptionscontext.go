package rest

// contextDescriptions says what each schema of what a task is about is, and each of its properties.
var contextDescriptions = map[string]string{
	"ProjectSettingsChange": "What is to change; what is left out stays.",

	"ProjectInfo.without_organization":           "The memories of the organization are left out of what the project is told.",
	"ProjectSettingsChange.without_organization": "Whether the memories of the organization are left out of what the project is told.",
}
