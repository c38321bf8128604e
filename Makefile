# make test   everything that must hold: format, vet, staticcheck, tests, clients, short fuzz runs
# make bench  how fast, beside what the machine could do at best (a quarter of an hour)
# make build  the server, in ./bin

.PHONY: build test bench bench-quick

build:
	go build -o bin/sectional ./cmd/sectional

test:
	go run ./test/all

bench:
	go run ./bench

bench-quick:
	go run ./bench --quick
