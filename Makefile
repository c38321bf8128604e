# make test       what must hold for every change: format, vet, staticcheck, tests, clients, and under the race detector what
#                 goroutines share
# make test-long  everything over all of its data, everything under the race detector, several servers under faults, programs
#                 and packages of a release for all systems, what deploy/ starts, how work grows with its input, and a minute
#                 of each fuzz test (hours)
# make vulnerabilities  known faults of dependencies, from the list at vuln.go.dev
# make bench      how fast, beside what the machine could do at best (a quarter of an hour)
# make build      the server, in ./bin
# make licences   THIRD_PARTY_LICENSES, of everything that is in the program
# make dashboard  the dashboard's files, which are committed, from their sources

.PHONY: build test test-long lint tests race vulnerabilities bench bench-quick dashboard licences

# Pebble has zstd in Go, as in releases, which are without cgo: the C sources take a compiler two minutes, and as long again for
# the race detector.
build lint tests race test-long: export GOFLAGS += -tags=pebblegozstd

build:
	go build -o bin/sectional ./cmd/sectional

# One run shows everything that fails: none of the parts waits for another.
test:
	sh test/install.sh
	$(MAKE) --no-print-directory --jobs=2 --keep-going lint race tests

lint:
	@unformatted=$$(gofmt -l bench cmd deploy embed internal test); [ -z "$$unformatted" ] || { echo "not formatted: $$unformatted"; exit 1; }
	go vet ./...
	go tool staticcheck ./...

# Tests that find PostgreSQL missing fail where it is installed. What starts servers and waits for them begins first, beside
# what needs the processors: four packages run at once.
GOTESTSUM = SECTIONAL_POSTGRES_REQUIRED=$$(ls -d /usr/lib/postgresql 2>/dev/null) go tool gotestsum --format pkgname-and-test-fails --format-hide-empty-pkg -- -count=1 -vet=off -timeout=60m
WAITING = ./test/clients ./test/system ./test/docs
tests: build
	SECTIONAL_BINARY=$(CURDIR)/bin/sectional $(GOTESTSUM) -p 4 $(WAITING) $$(go list ./... | grep -v /test/servers)

# What many requests share: engines, the store, queues, caches. Others hold little that the race detector could find
# beyond these.
SHARED = ./internal/auth ./internal/index ./internal/jobs ./internal/kv ./internal/kv/pebblekv ./internal/kv/pgkv ./internal/slots ./internal/store ./internal/subscribe ./internal/web
race:
	$(GOTESTSUM) -race -short $(SHARED)

test-long: export SECTIONAL_LONG = 1
test-long: build
	sh test/install.sh
	SECTIONAL_BINARY=$(CURDIR)/bin/sectional $(GOTESTSUM) -timeout=5h ./...
	$(GOTESTSUM) -race -timeout=5h ./...
	GOCOVERDIR=$$(mktemp -d) go run -cover -covermode=atomic -coverpkg=./internal/...,./test/growth,slices ./test/growth
	sh test/fuzz.sh 1m

vulnerabilities:
	go tool -modfile=test/packages/go.mod govulncheck ./...

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
