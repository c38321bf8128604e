// Package docs owns the pages of the documentation as the program carries them: those for users, which the dashboard
// shows under Help. Pages about how the program is made are read in the repository.
//
// It must not know how pages are shown. Begin reading at README.md.
package docs

import "embed"

// Pages are Markdown files by their names from this directory, README.md the table of contents among them.
//
//go:embed README.md access.md api.md backup.md commands.md DIFFERENCES.md limits.md metrics.md performance.md scaling.md settings.md
//go:embed guides/*.md articles/*.md
var Pages embed.FS
