package dynamoapi

import (
	"fmt"
	"maps"
	"slices"

	"github.com/sectional/sectional/internal/attribute"
	"github.com/sectional/sectional/internal/table"
)

// maxTags is how many tags a table has, as at AWS.
const maxTags = 50

// taggedTable returns the name of the table that a resource is, once all is right with the
// form of the request.
func (c *constraints) taggedTable(resource *string) (string, error) {
	c.required("resourceArn", resource, resourceLength)
	if err := c.err(); err != nil {
		return "", err
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
	var c constraints
	if c.given("tags", in.Tags != nil) {
		checkTags(&c, in.Tags)
	}
	return r.changeTags(&c, in.ResourceArn, func(d *table.Definition) { d.Tags = withTags(d.Tags, in.Tags) })
}

// checkTags notes tags that can't be.
func checkTags(c *constraints, tags []tag) {
	for i, t := range tags {
		at := fmt.Sprintf("tags.%d.member.", i+1)
		c.required(at+"key", t.Key, tagKeyLength)
		c.required(at+"value", t.Value, tagValueLength)
	}
}

// withTags returns the tags of a table with more of them.
func withTags(all map[string]string, more []tag) map[string]string {
	if all == nil && more != nil {
		all = map[string]string{}
	}
	for _, t := range more {
		all[*t.Key] = *t.Value
	}
	return all
}

func untagResource(r *Request) error {
	var in struct {
		ResourceArn *string
		TagKeys     []string
	}
	if err := r.parse(&in); err != nil {
		return err
	}
	var c constraints
	c.given("tagKeys", in.TagKeys != nil)
	for i := range in.TagKeys {
		c.length(fmt.Sprintf("tagKeys.%d.member", i+1), &in.TagKeys[i], tagKeyLength)
	}
	return r.changeTags(&c, in.ResourceArn, func(d *table.Definition) {
		for _, key := range in.TagKeys {
			delete(d.Tags, key)
		}
	})
}

func (r *Request) changeTags(c *constraints, resource *string, change func(*table.Definition)) error {
	name, err := c.taggedTable(resource)
	if err != nil {
		return err
	}
	if err := r.requireAdmin(name); err != nil {
		return err
	}
	_, err = r.changeDefinition(name, func(d *table.Definition) error {
		change(d)
		return checkTagCount(d)
	})
	if err != nil {
		return err
	}
	return r.answer([]byte("{}"))
}

func checkTagCount(d *table.Definition) error {
	if len(d.Tags) > maxTags {
		return attribute.Invalid("The number of tags exceeds the limit of %d", maxTags)
	}
	return nil
}

func listTags(r *Request) error {
	var in struct{ ResourceArn *string }
	if err := r.parse(&in); err != nil {
		return err
	}
	var c constraints
	name, err := c.taggedTable(in.ResourceArn)
	if err != nil {
		return err
	}
	t, err := r.table(name, false)
	if err != nil {
		return notFound(err, name)
	}
	if !r.mayAll(t, false) {
		return r.denied(name) // whom rules let into partitions is not told what the table is for
	}
	tags := []tag{}
	for _, key := range slices.Sorted(maps.Keys(t.Tags)) {
		value := t.Tags[key]
		tags = append(tags, tag{&key, &value})
	}
	return r.answerMember("Tags", tags)
}
