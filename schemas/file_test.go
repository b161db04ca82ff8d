package schemas

import (
	"errors"
	"testing"
)

func TestFileSchemas(t *testing.T) {
	if len(FileNames()) == 0 {
		t.Fatal("there is no schema of a file")
	}
	for _, name := range FileNames() {
		for _, bad := range []string{"", "{}", `{"unknown":1}`, "[]", `{"schema":"x","schema":"y"}`} {
			if err := ValidateFile(name, []byte(bad)); !errors.Is(err, ErrInvalid) {
				t.Errorf("%s takes %q: %v", name, bad, err)
			}
		}
	}
	if err := ValidateFile("nothing", []byte("{}")); !errors.Is(err, ErrUnknown) {
		t.Errorf("an unknown schema: %v", err)
	}
}
