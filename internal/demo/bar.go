package demo

import "strings"

// barWidth is the number of cells between the brackets.
const barWidth = 30

// show draws a bar for done of total documents.
func (l *loader) show(done, total int) {
	cells := done * barWidth / max(total, 1)
	l.line.Show("%-9s [%s%s] %d/%d", l.database.name, strings.Repeat("#", cells), strings.Repeat(".", barWidth-cells), done, total)
}
