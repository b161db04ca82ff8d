package projections

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/deedledger/deed/events"
	"github.com/go-json-experiment/json"
)

// ContractChange is one field in which two contract versions differ. Field is
// its path, with the ids of items and checks in it, such as
// "acceptance.A1.text". A list that is no command is compared value by value;
// when only its order differs, both lists are given as a whole.
type ContractChange struct {
	Field   string   `json:"field"`
	Removed []string `json:"removed"`
	Added   []string `json:"added"`
}

// DiffContracts returns what changed from one contract version to another,
// sorted by field. The version number itself is left off. Two contracts
// without a difference have the same digest but for that number.
func DiffContracts(a, b *events.Contract) ([]ContractChange, error) {
	old, err := contractFields(a)
	if err != nil {
		return nil, err
	}
	now, err := contractFields(b)
	if err != nil {
		return nil, err
	}
	all := maps.Clone(old)
	maps.Copy(all, now)
	changes := []ContractChange{}
	for _, field := range slices.Sorted(maps.Keys(all)) {
		c := ContractChange{Field: field, Removed: without(old[field], now[field]), Added: without(now[field], old[field])}
		if len(c.Removed)+len(c.Added) == 0 {
			if slices.Equal(old[field], now[field]) {
				continue
			}
			c.Removed, c.Added = old[field], now[field]
		}
		changes = append(changes, c)
	}
	return changes, nil
}

// without returns the values of list that other lacks, each as often as it
// lacks it.
func without(list, other []string) []string {
	rest, left := slices.Clone(other), []string{}
	for _, value := range list {
		if i := slices.Index(rest, value); i >= 0 {
			rest = slices.Delete(rest, i, i+1)
			continue
		}
		left = append(left, value)
	}
	return left
}

// contractFields flattens a contract to its leaves.
func contractFields(c *events.Contract) (map[string][]string, error) {
	data, err := events.EncodeData(c)
	if err != nil {
		return nil, fmt.Errorf("compare contracts: %w", err)
	}
	var tree map[string]any
	if err := json.Unmarshal(data, &tree); err != nil {
		return nil, fmt.Errorf("compare contracts: %w", err)
	}
	delete(tree, "version")
	fields := map[string][]string{}
	flatten(fields, "", tree)
	return fields, nil
}

// flatten adds the leaves below a value. Members of lists that have an id,
// a path or a name go by it, so that a new item moves no other.
func flatten(fields map[string][]string, at string, value any) {
	join := func(name string) string {
		if at == "" {
			return name
		}
		return at + "." + name
	}
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			if list, ok := member.([]any); ok && name == "command" {
				member = commandText(list)
			}
			flatten(fields, join(name), member)
		}
	case []any:
		for _, member := range v {
			object, ok := member.(map[string]any)
			if !ok {
				fields[at] = append(fields[at], leaf(member))
				continue
			}
			for _, key := range []string{"id", "path", "name"} {
				if name, ok := object[key].(string); ok {
					fields[join(name)] = append(fields[join(name)], "present")
					rest := maps.Clone(object)
					delete(rest, key) // it is in the path
					flatten(fields, join(name), rest)
				}
			}
		}
	default:
		fields[at] = append(fields[at], leaf(v))
	}
}

// commandText is an argument vector as one value: its JSON, so that nobody
// takes two arguments for one.
func commandText(list []any) string {
	text, err := json.Marshal(list, json.Deterministic(true))
	if err != nil {
		return fmt.Sprint(list)
	}
	return string(text)
}

func leaf(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprint(value)
}
