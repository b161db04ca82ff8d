package workspace

import (
	"context"
	"io"
)

// Contents reads the first limit bytes of each of some blobs, in their order. Error:
// [ErrMissingObject].
func (r *Repo) Contents(ctx context.Context, ids []string, limit int64) ([][]byte, error) {
	list := make([]treeEntry, len(ids))
	for i, id := range ids {
		list[i] = treeEntry{kind: "blob", id: id}
	}
	texts := make([][]byte, 0, len(ids))
	err := r.eachObject(ctx, list, func(_ treeEntry, content io.Reader) error {
		text, err := io.ReadAll(io.LimitReader(content, limit))
		texts = append(texts, text)
		return err
	})
	if err != nil {
		return nil, err
	}
	return texts, nil
}
