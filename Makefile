# make test       everything that must hold: format, vet, staticcheck, tests, clients, what goroutines share under the race detector, short fuzz runs
# make test-long  everything under the race detector, tests over all of their data, the program for all six systems, longer fuzz runs (an hour or two)
# go run ./test/all --only fuzz   one step of these, by a part of its name
# make bench      how fast, beside what the machine could do at best (a quarter of an hour)
# make build      the server, in ./bin
# make licences   THIRD_PARTY_LICENSES, of everything that is in the program
# make dashboard  the dashboard's files, which are committed, from their sources

.PHONY: build test test-long bench bench-quick dashboard licences

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

# The dashboard's sources are in dashboard/; what they build to is committed, so that the server builds without Node.js.
dashboard:
	cd dashboard && npm ci && npm run build

# Texts of the dashboard's packages are taken from the file as it was; after a change of these run `npm ci` in dashboard first.
licences:
	go run ./deploy/release licences > THIRD_PARTY_LICENSES.new
	mv THIRD_PARTY_LICENSES.new THIRD_PARTY_LICENSES
