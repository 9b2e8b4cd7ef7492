package drift

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/config"
	"github.com/stele-dev/stele/internal/git"
)

// EngineVersion changes whenever a run may answer differently for the same input.
const EngineVersion = 1

// Input is everything that the findings of a run depend on.
type Input struct {
	Commit git.Commit
	Tree   []git.Entry // of the commit, sorted by path
	// Root is the folder of the project inside the repository, "" at the top. Only files below it count, and not those below
	// another stele.yaml.
	Root     string
	Model    *c4model.Model
	Bindings []c4model.Binding // patterns relative to the top of the repository
	None     map[string]string // element key → why it has no code
	Ignore   []string          // globs relative to the top of the repository
	Waivers  []config.Waiver
	// Dangling are keys that stele.yaml names and the model does not have, each with the section it stands in.
	Dangling []Dangling
	// On is the day of evaluation; waivers expire against it.
	On time.Time
	// ModelFile and SettingsFile are where the model and stele.yaml are, relative to the top of the repository; "" when the
	// model is not tracked there, or there is no stele.yaml.
	ModelFile    string
	SettingsFile string
	// Server says that bindings of a server took part.
	Server bool
}

// Dangling is a reference to an element that is not in the model.
type Dangling struct {
	Key     string
	Section string // bindings, none
}

// hash identifies the input. Everything that can change a finding is in it, nothing else.
func (in *Input) hash() string {
	text, err := json.Marshal(struct { //nolint:musttag // names of fields as they are: it is only hashed
		Engine        int
		Tree          string
		Root          string
		Elements      []c4model.Element
		Relationships []c4model.Relationship
		Bindings      []c4model.Binding
		None          map[string]string
		Ignore        []string
		Waivers       []config.Waiver
		Dangling      []Dangling
		On            string
		ModelFile     string
		SettingsFile  string
		Server        bool
	}{
		EngineVersion, in.Commit.Tree, in.Root, in.Model.Elements, in.Model.Relationships, in.Bindings, in.None, in.Ignore, in.Waivers,
		in.Dangling, in.On.Format(time.DateOnly), in.ModelFile, in.SettingsFile, in.Server,
	})
	if err != nil {
		panic(fmt.Sprintf("hashing the input of a run: %v", err)) // plain data marshals
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// fingerprint identifies a finding across clones, runs and wordings: 64 bits as 16 hexadecimal digits.
func fingerprint(check Check, element, subject string) string {
	sum := sha256.Sum256([]byte(string(check) + "\x00" + c4model.FoldKey(element) + "\x00" + subject))
	return hex.EncodeToString(sum[:8])
}
