package schemas

import (
	"embed"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// fileURN starts the URN of a schema of files that Deed keeps in a repository,
// which are no events.
const fileURN = "urn:deed:file:"

//go:embed file/*.v1.json
var fileSchemas embed.FS

// FileNames returns the names of the schemas of files in a repository, sorted.
func FileNames() []string {
	dir, err := fileSchemas.ReadDir("file")
	if err != nil {
		panic("schemas: the embedded folder is unreadable: " + err.Error())
	}
	var names []string
	for _, f := range dir {
		names = append(names, strings.TrimSuffix(f.Name(), fileEnd))
	}
	return names
}

// FileText returns the text of a schema of files. ErrUnknown for another name.
func FileText(name string) ([]byte, error) {
	text, err := fileSchemas.ReadFile("file/" + name + fileEnd)
	if err != nil {
		return nil, fmt.Errorf("read schema: %w: %.80q", ErrUnknown, name)
	}
	return text, nil
}

// ValidateFile checks the text of a JSON file against its schema, which it
// compiles anew. ErrUnknown, or ErrInvalid as for [Validate].
func ValidateFile(name string, text []byte) error {
	schema, err := FileText(name)
	if err != nil {
		return err
	}
	var doc, value any
	if err := json.Unmarshal(schema, &doc); err != nil {
		return fmt.Errorf("compile schema %s: %w", name, err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(sealed{})
	urn := fileURN + name + urnSuffix
	if err := c.AddResource(urn, doc); err != nil {
		return fmt.Errorf("compile schema %s: %w", name, err)
	}
	compiled, err := c.Compile(urn)
	if err != nil {
		return fmt.Errorf("compile schema %s: %w", name, err)
	}
	if err := json.Unmarshal(text, &value); err != nil {
		return fmt.Errorf("validate %s: %w: %w", name, ErrInvalid, err)
	}
	if err := compiled.Validate(value); err != nil {
		return fmt.Errorf("validate %s: %w: %s", name, ErrInvalid, faults(err))
	}
	return nil
}
