package drift_test

import (
	"slices"
	"testing"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/drift/evidence"
)

func TestAimKnowsRenamedElements(t *testing.T) {
	t.Parallel()
	in := &drift.Input{
		Model: &c4model.Model{Elements: []c4model.Element{
			{Key: "shop", Name: "Shop", Level: c4model.System},
			{Key: "shop.orders", Name: "Orders", Level: c4model.Container, Parent: "shop", Properties: map[string]string{c4model.IdentityProperty: "o-1"}},
			{Key: "shop.web", Name: "Web", Level: c4model.Container, Parent: "shop"},
		}},
		Bindings: []c4model.Binding{{Element: "shop.orders", Pattern: "orders/**"}, {Element: "shop.web", Pattern: "web/**"}},
	}
	for name, tc := range map[string]struct {
		elements, same, want []string
	}{
		"by key":                         {[]string{"shop.web"}, nil, []string{"web/**"}},
		"by stele.id":                    {[]string{"shop.api"}, []string{"o-1"}, []string{"orders/**"}},
		"one by key, one by stele.id":    {[]string{"shop.web", "shop.api"}, []string{"o-1"}, []string{"web/**", "orders/**"}},
		"by key, and once":               {[]string{"shop.orders", "shop.gone"}, []string{"o-1"}, []string{"orders/**"}},
		"an element that left the model": {[]string{"shop.gone"}, []string{"g-1"}, nil},
	} {
		got := drift.Aim(in, &drift.Report{}, []evidence.Watched{{Elements: tc.elements, Same: tc.same}})[0].Patterns
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
