package schemas

import (
	"bytes"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/deedledger/deed/events"
)

// variants are further good documents of types whose members exclude each
// other, so that no single example could show them all.
func variants(t events.Type) []string {
	switch t {
	case events.ContractProposed, events.ReceiptRecorded:
		return []string{verification(t)}
	case events.CostRecorded:
		return []string{
			`{"kind":"review","time":{"currency":"EUR","minutes":25,"ratePerHour":90000000}}`,
			`{"amount":{"currency":"EUR","micros":1},"kind":"ci"}`,
		}
	case events.ResultRecorded:
		text, err := Example(t.Short())
		if err != nil {
			panic(err)
		}
		outside := `"outside":[{"path":"infra/a.tf","rule":"excluded","side":"old"},{"path":"src/out","rule":"link-leaves-boundary","side":"new"}]`
		return []string{string(bytes.Replace(text, []byte(`,"summary"`), []byte(`,`+outside+`,"summary"`), 1))}
	case events.EscalationResolved:
		const digest = "836ff184e7b41b1e13cb5fd89fa1de98dbbab99e9d2918913ff43b86a5c7c213"
		return []string{`{"action":"resume","boundary":"` + digest + `","reason":"It may.","rights":{"approvals":["notify"],"effects":["commit","preview"]}}`}
	case events.StepIssued:
		return []string{`{"step":"s1","success":"TestRound passes.","title":"Write it"}`}
	case events.DecisionFrozen:
		return []string{`{"decision":"d1","guard":{"paths":["shop/**"]},"reason":"It is checked."}`}
	case events.ApproachBanned:
		return []string{`{"approach":"a1","evidence":[{"commit":"1a954628a960aaef81d7b2d4521929579f3541e6","kind":"trace","outcome":"fail","url":"http://x/"}],"guard":{"keywords":["float"]},"reason":"It failed.","title":"Floats"}`}
	}
	return nil
}

// verification returns the example of a contract or a receipt, with one check,
// and with the optional members about how it is verified.
func verification(t events.Type) string {
	text, err := Example(t.Short())
	if err != nil {
		panic(err)
	}
	swap := func(old, better string) {
		if !bytes.Contains(text, []byte(old)) {
			panic("the example holds no " + old)
		}
		text = bytes.Replace(text, []byte(old), []byte(better), 1)
	}
	if t == events.ContractProposed {
		swap(`"id":"A1-unit",`, `"id":"A1-unit","report":{"format":"junit","path":"out/report.xml"},"skips":["TestOld","TestSlow"],`)
		swap(`"target":"main"`, `"services":[{"command":["pg_isready"],"name":"db","timeoutSeconds":5},{"command":["./up"],"name":"A2","timeoutSeconds":9}],"target":"main"`)
		return string(text)
	}
	const object, digest = "1a954628a960aaef81d7b2d4521929579f3541e6", "836ff184e7b41b1e13cb5fd89fa1de98dbbab99e9d2918913ff43b86a5c7c213"
	swap(`"command":["go"`, `"counts":{"executed":12,"failed":1,"flaky":1,"passed":11,"skipped":2,"total":15},"command":["go"`)
	swap(`"executed":12,"exit":0,`, `"evidence":[{"artifact":"`+digest+`","kind":"screenshot","outcome":"pass","url":"https://shop.example/cart"}],"executed":12,"exit":0,"flaky":true,`)
	swap(`"outcome":"pass","output"`, `"notes":["executed 12, before 40"],"outcome":"pass","output"`)
	swap(`"rule":"exit-zero"`, `"rule":"exit-zero","tries":[{"artifact":"`+digest+`","class":"code_failure","durationMs":31,"exit":1,"outcome":"fail","rule":"exit-nonzero"}]`)
	swap(`"assurance":"isolated",`, `"assurance":"isolated","confinement":"landlock-7",`)
	swap(`"verifier":`, `"source":{"commit":"`+object+`","kind":"import","provider":"acme","runAttempt":2,"runId":"77","url":"https://ci.acme.example/runs/77","workflow":"ci.yml","workflowCommit":"`+object+`"},"verifier":`)
	value := jsontext.Value(text)
	if err := value.Canonicalize(); err != nil {
		panic(err)
	}
	return string(value)
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
