package schemas

import (
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/deedledger/deed/events"
)

// variants are further good documents of types whose members exclude each
// other, so that no single example could show them all.
func variants(t events.Type) []string {
	switch t {
	case events.CostRecorded:
		return []string{
			`{"kind":"review","time":{"currency":"EUR","minutes":25,"ratePerHour":90000000}}`,
			`{"amount":{"currency":"EUR","micros":1},"kind":"ci"}`,
		}
	case events.StepIssued:
		return []string{`{"step":"s1","success":"TestRound passes.","title":"Write it"}`}
	case events.DecisionFrozen:
		return []string{`{"decision":"d1","guard":{"paths":["shop/**"]},"reason":"It is checked."}`}
	case events.ApproachBanned:
		return []string{`{"approach":"a1","guard":{"keywords":["float"]},"reason":"It failed.","title":"Floats"}`}
	}
	return nil
}

// additions are members of a type that exclude those of a document, to be
// added to it in turn.
func additions(t events.Type) map[string]any {
	switch t {
	case events.CostRecorded:
		return map[string]any{
			"amount": map[string]any{"currency": "EUR", "micros": 1.0}, "model": "large-2", "tokens": map[string]any{"in": 1.0, "out": 1.0},
			"time": map[string]any{"currency": "EUR", "minutes": 1.0, "ratePerHour": 1.0},
		}
	case events.ApproachBanned:
		return map[string]any{"guard": map[string]any{"contains": []any{"x"}}}
	}
	return nil
}

// allMutations returns every mutation of the example and the variants of a
// type.
func allMutations(t *testing.T, typ events.Type) []mutation {
	t.Helper()
	text, err := Example(typ.Short())
	if err != nil {
		t.Fatal(err)
	}
	var known []string
	if typ == events.AttemptOpened || typ == events.RecoveryDecided {
		known = []string{"world", "snapshot/inputs"} // lease.claimed has the same definitions
	}
	var list []mutation
	for _, text := range append([]string{string(text)}, variants(typ)...) {
		var doc any
		if err := json.Unmarshal([]byte(text), &doc); err != nil {
			t.Fatal(err)
		}
		list = append(list, mutation{"", "none", doc})
		list = append(list, mutations(doc, known...)...)
		for name, value := range additions(typ) {
			more := map[string]any{name: value}
			for k, v := range doc.(map[string]any) {
				if k != name {
					more[k] = v
				}
			}
			list = append(list, mutation{"", "with " + name, more})
		}
	}
	return list
}

func TestVariantsPassBoth(t *testing.T) {
	for _, typ := range events.Types() {
		for _, text := range variants(typ) {
			if err := Validate(typ.SchemaURN(), []byte(text)); err != nil {
				t.Errorf("%s: schema refuses %s: %v", typ.Short(), text, err)
			}
			if _, err := events.DecodeData(typ, []byte(text)); err != nil {
				t.Errorf("%s: struct refuses %s: %v", typ.Short(), text, err)
			}
		}
	}
}
