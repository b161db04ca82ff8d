package schemas

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Errors of this package.
var (
	// ErrUnknown says that there is no schema of that name.
	ErrUnknown = errors.New("unknown schema")
	// ErrInvalid says that data does not fit its schema.
	ErrInvalid = errors.New("data does not fit its schema")
)

// URNs of schemas start and end with these.
const (
	urnPrefix = "urn:deed:schema:"
	urnSuffix = ":v1"
	fileEnd   = ".v1.json"
	common    = "common"
)

// maxData bounds what Validate looks at, in bytes: the limit of an event's data.
const maxData = 48 << 10

//go:embed common.json *.v1.json examples/*.v1.json
var files embed.FS

// compiled holds one schema per name, each compiled at its first use.
var compiled = sync.OnceValue(newSet)

// Names returns the short names "<noun>.<verb>" of all schemas, sorted.
func Names() []string {
	return slices.Clone(compiled().names)
}

// Text returns the text of a schema by its URN or short name. The name
// "common" gives the definitions that all share. It returns ErrUnknown for
// any other name.
func Text(name string) ([]byte, error) {
	short := shorten(name)
	if short == common {
		return read(common + ".json")
	}
	if _, ok := compiled().schemas[short]; !ok {
		return nil, fmt.Errorf("read schema: %w: %.80q", ErrUnknown, name)
	}
	return read(short + fileEnd)
}

// Example returns one realistic data object of a type by its URN or short
// name: RFC 8785 bytes without line end. It returns ErrUnknown for any other
// name.
func Example(name string) ([]byte, error) {
	short := shorten(name)
	if _, ok := compiled().schemas[short]; !ok {
		return nil, fmt.Errorf("read example: %w: %.80q", ErrUnknown, name)
	}
	return read("examples/" + short + fileEnd)
}

// Validate checks data against a schema by its URN or short name. It returns
// ErrUnknown for an unknown name and ErrInvalid, with the place and reason of
// every fault, for data that does not fit, is no single JSON value, has a
// member twice, or is larger than 48 KiB. The error is one line; text from
// data is quoted in it and cut.
//
// It is safe for concurrent use. The first call for a name compiles it.
func Validate(name string, data []byte) error {
	e, ok := compiled().schemas[shorten(name)]
	if !ok {
		return fmt.Errorf("validate: %w: %.80q", ErrUnknown, name)
	}
	schema, err := e.compile()
	if err != nil {
		return fmt.Errorf("validate: %w", err)
	}
	if len(data) > maxData {
		return fmt.Errorf("validate %s: %w: %d bytes, limit %d", e.name, ErrInvalid, len(data), maxData)
	}
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		return fmt.Errorf("validate %s: %w: %w", e.name, ErrInvalid, err)
	}
	if err := schema.Validate(value); err != nil {
		return fmt.Errorf("validate %s: %w: %s", e.name, ErrInvalid, faults(err))
	}
	return nil
}

// faults returns the leaves of a validation error in one line. The library
// quotes what comes from data; length and number are bounded here.
func faults(err error) string {
	const maxFaults, maxFault = 8, 240
	var list []string
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		for _, cause := range e.Causes {
			walk(cause)
		}
		if len(e.Causes) == 0 {
			list = append(list, fmt.Sprintf("%.*s", maxFault, e.Error()))
		}
	}
	var top *jsonschema.ValidationError
	if !errors.As(err, &top) {
		return fmt.Sprintf("%.*s", maxFault, err.Error())
	}
	walk(top)
	slices.Sort(list) // the library walks maps
	if more := len(list) - maxFaults; more > 0 {
		list = append(list[:maxFaults], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(list, "; ")
}

// shorten returns the short name that a URN holds; other names stay.
func shorten(name string) string {
	rest, ok := strings.CutPrefix(name, urnPrefix)
	if !ok {
		return name
	}
	if rest, ok = strings.CutSuffix(rest, urnSuffix); !ok {
		return name
	}
	return rest
}

// set is every schema by short name. It is never changed after newSet.
type set struct {
	names   []string
	schemas map[string]*entry
}

func newSet() set {
	s := set{schemas: map[string]*entry{}}
	dir, err := files.ReadDir(".")
	if err != nil {
		panic("schemas: the embedded folder is unreadable: " + err.Error())
	}
	for _, f := range dir { // sorted by name
		if short, ok := strings.CutSuffix(f.Name(), fileEnd); ok {
			s.names = append(s.names, short)
			s.schemas[short] = &entry{name: short}
		}
	}
	return s
}

// entry is one schema; once guards the two fields after it.
type entry struct {
	name   string
	once   sync.Once
	schema *jsonschema.Schema
	err    error
}

// compile returns the compiled schema, the same one at every call.
func (e *entry) compile() (*jsonschema.Schema, error) {
	e.once.Do(func() {
		c := jsonschema.NewCompiler()
		c.DefaultDraft(jsonschema.Draft2020)
		c.UseLoader(sealed{})
		for _, name := range [...]string{common, e.name} {
			if e.err = add(c, name); e.err != nil {
				return
			}
		}
		e.schema, e.err = c.Compile(urnPrefix + e.name + urnSuffix)
	})
	if e.err != nil {
		return nil, fmt.Errorf("compile schema %s: %w", e.name, e.err)
	}
	return e.schema, nil
}

// add gives the compiler a schema under its URN.
func add(c *jsonschema.Compiler, short string) error {
	text, err := Text(short)
	if err != nil {
		return err
	}
	var doc any
	if err := json.Unmarshal(text, &doc); err != nil {
		return err
	}
	return c.AddResource(urnPrefix+short+urnSuffix, doc)
}

// sealed refuses to load anything that was not added: no file, no network.
type sealed struct{}

// Load implements jsonschema.URLLoader.
func (sealed) Load(url string) (any, error) {
	return nil, fmt.Errorf("%w: %.80q", ErrUnknown, url)
}

// read returns an embedded text, its last line end cut.
func read(name string) ([]byte, error) {
	text, err := files.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read embedded file: %w", err)
	}
	return bytes.TrimSuffix(text, []byte("\n")), nil
}
