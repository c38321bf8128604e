package demo

// Organisations and their projects, as an article on DynamoDB's indexes models them. A table with a simple key is an
// ordinary database; one with a sort key is partitioned, and _id joins both. A local secondary index is an index for
// partitions, a global one a global index; include holds what it projects.

type organisation struct {
	ID   string `json:"_id"`
	Name string `json:"name"`
}

type project struct {
	ID           string `json:"_id"`
	Name         string `json:"name"`
	Organisation string `json:"organisation_id"`
	Owner        string `json:"owner"`
	Updated      string `json:"last_updated"`
}

func organisationsDatabase() database {
	return database{name: "organisations", samples: func() []any {
		return []any{organisation{"abc123", "Foo and Sons"}, organisation{"def456", "Bar Brothers"}}
	}}
}

func projectsDatabase() database {
	return database{
		name: "projects", partitioned: true, samples: projects,
		design: []request{
			{"POST", "/_index", `{"index":{"fields":["last_updated"],"include":["name"]},"ddoc":"projects-by-last-updated","name":"by-last-updated","type":"json","partitioned":true}`},
			{"POST", "/_index", `{"index":{"fields":["owner"],"include":["organisation_id","name"]},"ddoc":"projects-by-owner","name":"by-owner","type":"json","partitioned":false}`},
		},
	}
}

func projects() []any {
	row := func(organisation, name, owner, updated string) project {
		return project{organisation + ":" + name, name, organisation, owner, updated}
	}
	return []any{
		row("abc123", "Foo Project", "jane", "2018-08-02"),
		row("abc123", "Other Foo Project", "john", "2018-03-02"),
		row("def456", "Bar Project", "jane", "2018-03-12"),
		row("def456", "Other Bar Project", "sarah", "2017-12-06"),
	}
}
