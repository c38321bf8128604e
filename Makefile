# make test       everything that must hold: format, vet, staticcheck, tests, clients, short fuzz runs
# make test-long  everything under the race detector, tests over all of their data, longer fuzz runs (an hour or two)
# make bench      how fast, beside what the machine could do at best (a quarter of an hour)
# make build      the server, in ./bin

.PHONY: build test test-long bench bench-quick

build:
	go build -o bin/sectional ./cmd/sectional

test:
	go run ./test/all

test-long:
	go run ./test/all --long

bench:
	go run ./bench

bench-quick:
	go run ./bench --quick
