package dynamoapi

import (
	"maps"
	"slices"

	"github.com/sectional/sectional/internal/attribute"
	"github.com/sectional/sectional/internal/table"
)

// maxTags is how many tags a table has, as at AWS.
const maxTags = 50

// taggedTable returns the name of the table that a resource is.
func taggedTable(resource *string) (string, error) {
	var c constraints
	if !c.given("resourceArn", resource != nil) {
		return "", c.err()
	}
	name, ok := cutARN(*resource)
	if !ok {
		return "", attribute.Invalid("Invalid TableArn: Invalid ResourceArn provided as input %s", *resource)
	}
	return name, nil
}

func tagResource(r *Request) error {
	var in struct {
		ResourceArn *string
		Tags        []tag
	}
	if err := r.parse(&in); err != nil {
		return err
	}
	return r.changeTags(in.ResourceArn, func(d *table.Definition) {
		if d.Tags == nil {
			d.Tags = map[string]string{}
		}
		for _, t := range in.Tags {
			d.Tags[t.Key] = t.Value
		}
	})
}

func untagResource(r *Request) error {
	var in struct {
		ResourceArn *string
		TagKeys     []string
	}
	if err := r.parse(&in); err != nil {
		return err
	}
	return r.changeTags(in.ResourceArn, func(d *table.Definition) {
		for _, key := range in.TagKeys {
			delete(d.Tags, key)
		}
	})
}

func (r *Request) changeTags(resource *string, change func(*table.Definition)) error {
	name, err := taggedTable(resource)
	if err != nil {
		return err
	}
	if err := r.requireAdmin(name); err != nil {
		return err
	}
	_, err = r.changeDefinition(name, func(d *table.Definition) error {
		change(d)
		if len(d.Tags) > maxTags {
			return attribute.Invalid("The number of tags exceeds the limit of %d", maxTags)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return r.answer([]byte("{}"))
}

func listTags(r *Request) error {
	var in struct{ ResourceArn *string }
	if err := r.parse(&in); err != nil {
		return err
	}
	name, err := taggedTable(in.ResourceArn)
	if err != nil {
		return err
	}
	t, err := r.table(name, false)
	if err != nil {
		return notFound(err, name)
	}
	tags := []tag{}
	for _, key := range slices.Sorted(maps.Keys(t.Tags)) {
		tags = append(tags, tag{key, t.Tags[key]})
	}
	return r.answerMember("Tags", tags)
}
