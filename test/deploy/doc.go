// Package deploy tests the files of the directory deploy: they are read strictly, and what they start is started, as
// processes where containers can't be: PostgreSQL and its standby by the scripts and settings that compose.yaml mounts,
// three servers with the arguments and the configuration that it gives them, and HAProxy with its file. It is a module
// of its own for the sake of what only it needs: the loader of compose files and the types of Kubernetes.
// It uses packages of the main module: where that changes what it requires, `go mod tidy` here follows.
//
// Begin reading at TestCompose and TestRollingRestart.
package deploy
