package ledger

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cedar-policy/cedar-go"
	"github.com/go-json-experiment/json"

	"github.com/deedledger/deed/events"
)

// checkNames refuses a statement about something that no question of a policy
// can ever be about: a misspelt event or role would forbid nothing, for ever,
// and nobody would be told.
func checkNames(c *cedar.Policy) error {
	text, err := c.MarshalJSON()
	if err != nil {
		return fmt.Errorf("spell policy as JSON: %w", err)
	}
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		return fmt.Errorf("read policy as JSON: %w", err)
	}
	return checkNode(tree)
}

// checkNode looks for entities, {"type":"Role","id":"owner"}, and for types of
// entities, "entity_type":"Role", anywhere in a statement's JSON form. A record
// that the statement itself builds holds expressions, never bare strings.
func checkNode(node any) error {
	switch n := node.(type) {
	case []any:
		for _, v := range n {
			if err := checkNode(v); err != nil {
				return err
			}
		}
	case map[string]any:
		kind, isKind := n["type"].(string)
		id, isID := n["id"].(string)
		if isKind && isID && len(n) == 2 {
			return checkEntity(kind, id)
		}
		if name, ok := n["entity_type"].(string); ok && !slices.Contains(entityTypes(), name) {
			return fmt.Errorf("%q is no type of entity, want one of %s", name, strings.Join(entityTypes(), ", "))
		}
		for name, v := range n {
			if name == "annotations" {
				continue
			}
			if err := checkNode(v); err != nil {
				return err
			}
		}
	}
	return nil
}

// entityTypes are the types of the entities in a question.
func entityTypes() []string { return []string{"Action", "Actor", "Kind", "Principal", "Role", "Task"} }

// checkEntity refuses an entity that is in no question. Actors, principals and
// tasks may come later than a policy about them.
func checkEntity(kind, id string) error {
	switch kind {
	case "Actor", "Principal", "Task":
		return nil
	case "Action":
		if !isAction(id) {
			return fmt.Errorf("no event of a task is named %q", id)
		}
	case "Role":
		if !slices.Contains(events.Roles(), events.Role(id)) {
			return fmt.Errorf("there is no role %q", id)
		}
	case "Kind":
		if !slices.Contains([]events.Kind{events.KindAgent, events.KindCI, events.KindHuman, events.KindService}, events.Kind(id)) {
			return fmt.Errorf("there is no kind of actor %q", id)
		}
	default:
		return fmt.Errorf("%q is no type of entity, want one of %s", kind, strings.Join(entityTypes(), ", "))
	}
	return nil
}

// isAction reports whether a question can be about an action: a row of the
// table, all rows of an event, or all events of a noun.
func isAction(id string) bool {
	return slices.ContainsFunc(Table(), func(r Row) bool {
		noun, _, _ := strings.Cut(r.Type.Short(), ".")
		return id == r.Name() || id == r.Type.Short() || id == noun
	})
}
