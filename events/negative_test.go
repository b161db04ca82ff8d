package events_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/deedledger/deed/events"
)

// negativeBase is the golden vector that negative ones start from.
const negativeBase = "09-released"

// negative is one form that must be refused. Form "stored" is the stored form
// of the golden vector negativeBase with the headers here set, or removed
// where null, and with these bytes, if any, as its body. Forms "exported" and
// "data" are these bytes. Bytes are base64, since some are no text. The error
// is the name of the sentinel.
type negative struct {
	Name    string               `json:"name"`
	Form    string               `json:"form"`
	Headers map[string]*[]string `json:"headers,omitempty"`
	Type    events.Type          `json:"type,omitempty"`
	Bytes   string               `json:"bytes,omitempty"`
	Error   string               `json:"error"`
}

func sentinel(name string) error {
	return map[string]error{
		"ErrForm": events.ErrForm, "ErrTooLarge": events.ErrTooLarge, "ErrAmbiguous": events.ErrAmbiguous,
		"ErrUnknownType": events.ErrUnknownType, "ErrData": events.ErrData,
	}[name]
}

// parse runs a negative vector through the parser of its form.
func (n negative) parse(t testing.TB, base vector) error {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(n.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	switch n.Form {
	case "stored":
		h := multi(base.StoredHeaders)
		for name, values := range n.Headers {
			if delete(h, name); values != nil {
				h[name] = *values
			}
		}
		if n.Bytes == "" {
			raw = []byte(base.Data)
		}
		_, err = events.ParseStored(h, raw)
	case "exported":
		_, err = events.ParseExport(raw)
	case "data":
		_, err = events.DecodeData(n.Type, raw)
	default:
		t.Fatalf("%s: form %q", n.Name, n.Form)
	}
	return err
}

// headerFaults change one attribute of a stored event. "-" removes it.
func headerFaults() [][3]string {
	const id = "01931f3c-0000-7000-8000-000000000004"
	return [][3]string{
		{"empty subject", "subject", ""}, {"empty causationid", "causationid", ""}, {"empty correlationid", "correlationid", ""},
		{"empty fencetoken", "fencetoken", ""}, {"empty traceparent", "traceparent", ""}, {"empty unknown", "x", ""},
		{"unknown attribute", "x", "1"}, {"unknown without name", "", "1"}, {"attribute data", "data", "{}"}, {"attribute data_base64", "data_base64", "e30="},
		{"upper-case attribute", "ID", id}, {"long s attribute", "\u017fubject", "a02c"}, {"attribute partitionkey", "partitionkey", "a"},
		{"no id", "id", "-"}, {"no source", "source", "-"}, {"no specversion", "specversion", "-"}, {"no type", "type", "-"}, {"no time", "time", "-"},
		{"no datacontenttype", "datacontenttype", "-"}, {"no dataschema", "dataschema", "-"}, {"no sequence", "sequence", "-"},
		{"no prevhash", "prevhash", "-"}, {"no authtype", "authtype", "-"}, {"no authid", "authid", "-"}, {"no signkeyid", "signkeyid", "-"},
		{"no dssematerial", "dssematerial", "-"},
		{"specversion 1.1", "specversion", "1.1"}, {"specversion 1", "specversion", "1"}, {"specversion 0.3", "specversion", "0.3"},
		{"id upper case", "id", strings.ToUpper(id)}, {"id version 4", "id", "01931f3c-0000-4000-8000-000000000004"},
		{"id variant", "id", "01931f3c-0000-7000-c000-000000000004"}, {"id braces", "id", "{" + id + "}"}, {"id short", "id", id[1:]},
		{"id without dashes", "id", strings.ReplaceAll(id, "-", "")},
		{"source escaped", "source", "/ledgers/acme/tasks/TASK%2D481"}, {"source other root", "source", "/ledger/acme/tasks/TASK-481"},
		{"source trailing slash", "source", "/ledgers/acme/tasks/TASK-481/"}, {"source without task", "source", "/ledgers/acme/tasks/"},
		{"source dots", "source", "/ledgers/acme/tasks/../registry"}, {"source wildcard", "source", "/ledgers/acme/tasks/*"}, {"source tokens", "source", "/ledgers/acme/tasks/a.b"},
		{"source upper-case ledger", "source", "/ledgers/Acme/tasks/TASK-481"}, {"source absolute", "source", "https://x/ledgers/acme/tasks/TASK-481"},
		{"task type on registry", "source", "/ledgers/acme/registry"}, {"registry type on task", "type", string(events.ActorRevoked)},
		{"type of other version", "type", "dev.deed.lease.released.v2"}, {"type upper case", "type", "dev.deed.Lease.released.v1"},
		{"type with quote", "type", `dev.deed.lease".released.v1`}, {"type without verb", "type", "dev.deed.lease.v1"}, {"type foreign", "type", "com.example.lease.released.v1"},
		{"other known type", "type", string(events.LeaseClaimed)}, {"other unknown type", "type", "dev.deed.lease.nibbled.v1"},
		{"dataschema of another type", "dataschema", "urn:deed:schema:lease.claimed:v1"}, {"dataschema upper case", "dataschema", "URN:deed:schema:lease.released:v1"},
		{"content type with charset", "datacontenttype", "application/json; charset=utf-8"}, {"content type upper case", "datacontenttype", "Application/JSON"},
		{"content type other", "datacontenttype", "text/json"},
		{"subject with space", "subject", "a 02c"}, {"subject long", "subject", strings.Repeat("a", 33)},
		{"time with fraction", "time", "2026-11-30T12:00:04.5Z"}, {"time with zero fraction", "time", "2026-11-30T12:00:04.000Z"}, {"time with comma", "time", "2026-11-30T12:00:04,5Z"},
		{"time with offset", "time", "2026-11-30T13:00:04+01:00"}, {"time with zero offset", "time", "2026-11-30T12:00:04+00:00"}, {"time lower case", "time", "2026-11-30t12:00:04z"},
		{"time with space", "time", "2026-11-30 12:00:04Z"}, {"time impossible", "time", "2026-02-30T12:00:04Z"}, {"time leap second", "time", "2026-12-31T23:59:60Z"},
		{"sequence 19 digits", "sequence", "0000000000000000003"}, {"sequence 21 digits", "sequence", "000000000000000000003"}, {"sequence plus", "sequence", "+0000000000000000003"},
		{"sequence minus", "sequence", "-0000000000000000003"}, {"sequence zero", "sequence", "00000000000000000000"}, {"sequence underscore", "sequence", "0000000000000000_003"},
		{"sequence overflow", "sequence", "18446744073709551616"}, {"sequence other digits", "sequence", "0000000000000000000\u0663"},
		{"prevhash upper case", "prevhash", strings.Repeat("AB", 32)}, {"prevhash short", "prevhash", strings.Repeat("ab", 31)}, {"prevhash prefix", "prevhash", "sha256:" + strings.Repeat("ab", 32)},
		{"fence zero", "fencetoken", "0"}, {"fence leading zero", "fencetoken", "01"}, {"fence plus", "fencetoken", "+1"}, {"fence hex", "fencetoken", "0x1"}, {"fence overflow", "fencetoken", "9223372036854775808"},
		{"causationid no id", "causationid", "TASK-480"}, {"causationid upper case", "causationid", strings.ToUpper(id)},
		{"correlationid with percent", "correlationid", "epic%207"}, {"correlationid not ASCII", "correlationid", "epic-é"}, {"correlationid with space", "correlationid", "epic 7"},
		{"correlationid with quote", "correlationid", `epic"7`}, {"correlationid with DEL", "correlationid", "epic\x7f"}, {"correlationid with line end", "correlationid", "epic\n"},
		{"traceparent with space", "traceparent", "00 4bf9"}, {"signkeyid with space", "signkeyid", "SHA256: abc"},
		{"authtype unknown", "authtype", "robot"}, {"authtype upper case", "authtype", "User"}, {"authid upper case", "authid", "Olga"}, {"authid empty name", "authid", "-x"},
	}
}

// exportEdits change the text of an exported event once.
func exportEdits() [][4]string {
	const id = `"id":"01931f3c-0000-7000-8000-000000000009"`
	return [][4]string{
		{"duplicate attribute", id, id + "," + id, "ErrAmbiguous"},
		{"duplicate attribute with other value", id, `"id":"01931f3c-0000-7000-8000-000000000008",` + id, "ErrAmbiguous"},
		{"case-folded duplicate", id, id + `,"Id":"x"`, "ErrForm"},
		{"case-folded name", `"id":`, `"ID":`, "ErrForm"},
		{"long s name", `"source":`, `"\u017fource":`, "ErrForm"},
		{"empty name", id, id + `,"":"x"`, "ErrForm"},
		{"unknown member", id, id + `,"x":"1"`, "ErrForm"},
		{"member data_base64", id, id + `,"data_base64":"e30="`, "ErrForm"},
		{"two data", `"data":{`, `"data":{},"data":{`, "ErrAmbiguous"},
		{"empty attribute", id, id + `,"expirytime":""`, "ErrForm"},
		{"null attribute", `"subject":"a02c"`, `"subject":null`, "ErrForm"},
		{"number attribute", `"fencetoken":"2"`, `"fencetoken":2`, "ErrForm"},
		{"list attribute", `"subject":"a02c"`, `"subject":["a02c"]`, "ErrForm"},
		{"space after colon", id, strings.Replace(id, ":", ": ", 1), "ErrAmbiguous"},
		{"space before data", `"data":{`, `"data": {`, "ErrAmbiguous"},
		{"space within data", `"data":{`, `"data":{ `, "ErrAmbiguous"},
		{"line end at the end", `"}}`, "\"}}\n", "ErrAmbiguous"},
		{"second value", `"}}`, "\"}}{}", "ErrAmbiguous"},
		{"bytes at the end", `"}}`, "\"}}x", "ErrAmbiguous"},
		{"cut", `"}}`, "\"}", "ErrAmbiguous"},
		{"BOM", `{"specversion"`, "\ufeff" + `{"specversion"`, "ErrAmbiguous"},
		{"escaped letter", `"subject":"a02c"`, `"subject":"\u006102c"`, "ErrAmbiguous"},
		{"escaped slash", `/ledgers/acme/tasks`, `\/ledgers/acme/tasks`, "ErrAmbiguous"},
		{"invalid UTF-8 attribute", `"a02c"`, "\"a\xff\"", "ErrAmbiguous"},
		{"invalid UTF-8 data", `"reason":"context"`, "\"reason\":\"context\xff\"", "ErrAmbiguous"},
		{"lone surrogate", `"reason":"context"`, `"reason":"\ud800"`, "ErrAmbiguous"},
		{"data no object", `"data":{`, `"data":[],"x":{`, "ErrForm"},
		{"order of members", `"specversion":"1.0",` + id, id + `,"specversion":"1.0"`, "ErrAmbiguous"},
		{"list of events", `{"specversion"`, `[{"specversion"`, "ErrAmbiguous"},
		{"comment", `{"specversion"`, `/**/{"specversion"`, "ErrAmbiguous"},
		{"duplicate in data", `"reason":"context"`, `"reason":"context","reason":"shift"`, "ErrAmbiguous"},
		{"case-folded duplicate in data", `"reason":"context"`, `"Reason":"shift","reason":"context"`, "ErrAmbiguous"},
		{"long s in data", `"reason":"context"`, `"reason":"context","rea\u017fon":"shift"`, "ErrAmbiguous"},
		{"empty name in data", `"reason":"context"`, `"":1,"reason":"context"`, "ErrAmbiguous"},
	}
}

// dataFaults are spellings of a number, then whole data objects.
func dataFaults() [][3]string {
	digest := strings.Repeat("0", 64)
	with := func(version string) string { return `{"digest":"` + digest + `","version":` + version + `}` }
	return [][3]string{
		{"2^53+1", with("9007199254740993"), "ErrAmbiguous"}, {"2^53", with("9007199254740992"), "ErrData"}, {"minus zero", with("-0"), "ErrAmbiguous"},
		{"1e21", with("1e21"), "ErrAmbiguous"}, {"1e+21", with("1e+21"), "ErrAmbiguous"}, {"1.0", with("1.0"), "ErrAmbiguous"}, {"1e0", with("1e0"), "ErrAmbiguous"},
		{"1.5", with("1.5"), "ErrAmbiguous"}, {"1e400", with("1e400"), "ErrAmbiguous"}, {"leading zero", with("01"), "ErrAmbiguous"}, {"plus", with("+1"), "ErrAmbiguous"},
		{"NaN", with("NaN"), "ErrAmbiguous"}, {"text for number", with(`"1"`), "ErrAmbiguous"}, {"null for number", with("null"), "ErrAmbiguous"},
		{"number too large", with("1000001"), "ErrData"}, {"number too small", with("0"), "ErrData"},
		{"digest upper case", `{"digest":"` + strings.Repeat("AB", 32) + `","version":1}`, "ErrData"},
		{"duplicate", `{"digest":"` + digest + `","version":1,"version":2}`, "ErrAmbiguous"},
		{"duplicate equal", `{"digest":"` + digest + `","version":1,"version":1}`, "ErrAmbiguous"},
		{"case-folded duplicate", `{"Version":2,"digest":"` + digest + `","version":1}`, "ErrAmbiguous"},
		{"case-folded alone", `{"Version":1,"digest":"` + digest + `"}`, "ErrAmbiguous"},
		{"long s", `{"digest":"` + digest + `","dige\u017ft":"` + digest + `","version":1}`, "ErrAmbiguous"},
		{"escaped name", `{"digest":"` + digest + `","\u0076ersion":1}`, "ErrAmbiguous"},
		{"unknown member", `{"digest":"` + digest + `","version":1,"x":1}`, "ErrAmbiguous"},
		{"missing member", `{"version":1}`, "ErrAmbiguous"}, {"nothing", "", "ErrAmbiguous"}, {"null", "null", "ErrAmbiguous"}, {"list", "[]", "ErrAmbiguous"},
		{"text", `"x"`, "ErrAmbiguous"}, {"empty object", "{}", "ErrAmbiguous"},
		{"space inside", `{"digest":"` + digest + `", "version":1}`, "ErrAmbiguous"}, {"space before", " " + with("1"), "ErrAmbiguous"}, {"space after", with("1") + " ", "ErrAmbiguous"},
		{"line end after", with("1") + "\n", "ErrAmbiguous"}, {"two values", with("1") + with("2"), "ErrAmbiguous"}, {"bytes after", with("1") + "x", "ErrAmbiguous"},
		{"zero byte after", with("1") + "\x00", "ErrAmbiguous"}, {"BOM", "\ufeff" + with("1"), "ErrAmbiguous"}, {"cut", `{"digest":"` + digest + `","version":1`, "ErrAmbiguous"},
		{"order", `{"version":1,"digest":"` + digest + `"}`, "ErrAmbiguous"}, {"invalid UTF-8", "{\"digest\":\"\xff\",\"version\":1}", "ErrAmbiguous"},
		{"comma at the end", `{"digest":"` + digest + `","version":1,}`, "ErrAmbiguous"}, {"single quotes", `{'version':1}`, "ErrAmbiguous"},
	}
}

// makeNegatives derives every negative vector.
func makeNegatives(t testing.TB) (vector, []negative) {
	t.Helper()
	_, vectors := makeVectors(t)
	base := vectors[slices.IndexFunc(vectors, func(v vector) bool { return v.Name == negativeBase })]
	b64 := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	var list []negative
	values := func(v ...string) *[]string { return &v }
	id := base.StoredHeaders["ce-id"]
	stored := func(name, sentinel string, h map[string]*[]string) {
		list = append(list, negative{Name: "header: " + name, Form: "stored", Headers: h, Error: sentinel})
	}
	for _, f := range headerFaults() {
		h := map[string]*[]string{"ce-" + f[1]: values(f[2])}
		if f[2] == "-" {
			h["ce-"+f[1]] = nil
		}
		stored(f[0], "ErrForm", h)
	}
	material := base.StoredHeaders["ce-dssematerial"]
	for name, value := range map[string]string{
		"base64 unpadded": strings.TrimRight(material, "="), "base64 with line end": material[:64] + "\n" + material[64:], "base64 with CR": material + "\r",
		"base64 URL alphabet": b64("\xfb\xff") + "_-==", "base64 empty": "", "base64 stray bits": "e31=", "base64 with space": " " + material,
	} {
		stored(name, "ErrForm", map[string]*[]string{"ce-dssematerial": values(value)})
	}
	for _, name := range []string{"Ce-Id", "CE-ID", "cE-id", "Ce-id", "Ce-", "CE-X", "ce-Id"} {
		stored("also "+name, "ErrForm", map[string]*[]string{name: values(id)})
	}
	stored("only Ce-Id", "ErrForm", map[string]*[]string{"Ce-Id": values(id), "ce-id": nil})
	for _, name := range []string{"ce-id", "ce-subject", "ce-dssematerial"} {
		stored(name+" twice", "ErrForm", map[string]*[]string{name: values(base.StoredHeaders[name], base.StoredHeaders[name])})
	}
	stored("ce-id without value", "ErrForm", map[string]*[]string{"ce-id": values()})
	stored("attribute too long", "ErrTooLarge", map[string]*[]string{"ce-correlationid": values(strings.Repeat("a", 513))})
	// These are good JSON of an object of another type: only DecodeData can tell.
	typed := []string{"missing member", "empty object", "text for number", "null for number", "unknown member", "case-folded alone"}
	for _, f := range dataFaults() {
		if f[2] == "ErrAmbiguous" && f[1] != "" && !slices.Contains(typed, f[0]) {
			list = append(list, negative{Name: "body: " + f[0], Form: "stored", Bytes: b64(f[1]), Error: "ErrAmbiguous"})
		}
		list = append(list, negative{Name: "data: " + f[0], Form: "data", Type: events.ContractAccepted, Bytes: b64(f[1]), Error: f[2]})
	}
	list = append(list, negative{Name: "data: unknown type", Form: "data", Type: "dev.deed.lease.nibbled.v1", Bytes: b64("{}"), Error: "ErrUnknownType"})
	for _, f := range exportEdits() {
		text := strings.Replace(base.Exported, f[1], f[2], 1)
		if i := strings.LastIndex(base.Exported, f[1]); f[1] == `"}}` {
			text = base.Exported[:i] + f[2]
		}
		if text == base.Exported {
			t.Fatalf("%s changes nothing", f[0])
		}
		list = append(list, negative{Name: "exported: " + f[0], Form: "exported", Bytes: b64(text), Error: f[3]})
	}
	slices.SortFunc(list, func(a, b negative) int { return strings.Compare(a.Name, b.Name) })
	return base, list
}

func TestNegativeVectors(t *testing.T) {
	base, list := makeNegatives(t)
	file := filepath.Join("testdata", "negative.json")
	if *update {
		if err := os.WriteFile(file, encodeVector(t, list), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(text, encodeVector(t, list)) {
		t.Error("the file is not what the code makes (-update writes it)")
	}
	var read []negative
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	for i, n := range read {
		if i > 0 && read[i-1].Name == n.Name {
			t.Errorf("%s: name occurs twice", n.Name)
		}
		if err := n.parse(t, base); !errors.Is(err, sentinel(n.Error)) || err == nil {
			t.Errorf("%s: %v, want %s", n.Name, err, n.Error)
		} else if strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' || r == 0x7f }) || len(err.Error()) > 1000 {
			t.Errorf("%s: the error carries control characters or is long: %q", n.Name, err)
		}
	}
}
