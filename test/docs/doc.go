// Package docs does what the documentation tells its readers to do: it executes the commands of every page of docs and
// of the README, in their order, against servers of the built binary, and compares what they print with what the page
// says. Nothing here is about single pages. Begin reading at TestPages.
//
// The first line of a page with commands says what has to be there:
//
//	<!-- test: server -->   an empty server at 127.0.0.1:5984 with the administrator admin, whose password is PASSWORD
//	<!-- test: demo -->     the same with the demo's data
//	<!-- test: shell -->    nothing, the page starts its own server
//	<!-- test: postgres --> an empty PostgreSQL database at postgres://sectional:SECRET@db.example/sectional, if it is installed
//
// All blocks of a page run in one directory, in which the server's data is ./data. Ports are replaced by free ones, in
// commands, files and outputs, and so is PASSWORD. The language of a fenced block says what happens to it:
//
//	sh              is executed by `sh -e`; variables stay. Each command must succeed, no curl may be answered with an
//	                error, and no answer may be empty (`"rows":[]`) unless the page shows it
//	sh fails        must end with an error
//	sh where TEST   is executed where the command TEST succeeds, such as one that looks for a program of others; elsewhere
//	                it counts as a skipped test
//	sh skip REASON  is not executed; TestPages bounds how many there are
//	json, text      right after a block of sh: what it prints. `…` stands for anything; JSON is compared by structure,
//	                where a member or element `…` stands for any number of them
//	json            elsewhere: must be JSON
//	ini             a server must start with it, without a warning
//	js              must be JavaScript
//	any of these, or nginx, caddyfile, yaml, html, python, whose first line is a comment of a file's name (`// sync.mjs`, `; local.ini`):
//	                is that file in the page's directory, from there on
//
// `sectional serve` in a page starts a server in the background and returns when it answers; what it printed by then
// is its output. It takes the place of the one at the same address, as when a reader ends that first. Programs of Node
// find the packages of test/node. What a reader does not see is in comments: `<!-- run: stop -->` ends the server, as Ctrl-C does, and
// other commands prepare what a page takes as given.
package docs
