package schemas_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/schemas"
)

func TestNamesAreTheTypes(t *testing.T) {
	var want []string
	for _, typ := range events.Types() {
		want = append(want, typ.Short())
	}
	slices.Sort(want)
	if got := schemas.Names(); !slices.Equal(got, want) {
		t.Fatalf("schemas are\n%q\ntypes are\n%q", got, want)
	}
}

func TestExamplesPassBoth(t *testing.T) {
	for _, typ := range events.Types() {
		data, err := schemas.Example(typ.Short())
		if err != nil {
			t.Fatal(err)
		}
		if err := schemas.Validate(typ.SchemaURN(), data); err != nil {
			t.Errorf("%s: schema refuses its example: %v", typ.Short(), err)
		}
		if _, err := events.DecodeData(typ, data); err != nil {
			t.Errorf("%s: struct refuses the example: %v", typ.Short(), err)
		}
	}
}

func TestUnknownNames(t *testing.T) {
	for _, name := range []string{"", "common", "nothing.done", "urn:deed:schema:ledger.created:v2", "urn:deed:schema:", "../common", "examples/ledger.created", "dev.deed.ledger.created.v1"} {
		if err := schemas.Validate(name, []byte(`{}`)); !errors.Is(err, schemas.ErrUnknown) {
			t.Errorf("Validate(%q) = %v, want ErrUnknown", name, err)
		}
		if _, err := schemas.Example(name); !errors.Is(err, schemas.ErrUnknown) {
			t.Errorf("Example(%q) = %v, want ErrUnknown", name, err)
		}
		if _, err := schemas.Text(name); name != "common" && !errors.Is(err, schemas.ErrUnknown) {
			t.Errorf("Text(%q) = %v, want ErrUnknown", name, err)
		}
	}
}
