workspace "Stele" "A memory service for coding agents. Memories hang on the elements of an architecture model." {

    // The model of the repository it stands in. Every element with code says where it lives (property "path"), and a
    // test compares the relationships between components with the imports of the Go packages.

    !identifiers hierarchical
    !adrs ../adr madr

    model {
        developer = person "Developer" "Writes code with agents, remembers and recalls from the command line."
        agent = person "Coding agent" "A program that works on code. Remembers, recalls and confirms over MCP."
        reviewer = person "Reviewer" "Settles what is doubted or disputed."
        operator = person "Operator" "Installs Stele, keeps its database and its master key."

        server = softwareSystem "PostgreSQL server" "A PostgreSQL 15 or later with pgvector, run by someone else." "External"

        stele = softwareSystem "Stele" "Remembers typed facts about the elements of a C4 model, and finds them again." {
            // What looks after the repository as a whole is of no container.
            properties {
                path "/internal/{conformance,faults,repocheck}"
            }

            program = container "stele" "One static binary: command line, MCP server, migrations, and the keeper of the embedded database." "Go" {
                properties {
                    path "/cmd"
                }

                group "Doors" {
                    cli = component "Command line" "Commands, their flags and output; wires everything else together." "Go, cobra" {
                        properties {
                            path "/cmd/stele"
                        }
                    }
                    rest = component "REST" "The domain as JSON under /v1, with its OpenAPI document and a stream of events." "Go, huma" {
                        properties {
                            path "/api/rest"
                        }
                    }
                    eventstream = component "Event stream" "Server-sent events of what happens in a project, for every door that has a stream." "Go" {
                        properties {
                            path "/api/eventstream"
                        }
                    }
                    mcp = component "MCP server" "Tools, resources and prompts for agents over stdio and HTTP; translates, never decides." "Go, mcp-go" {
                        properties {
                            path "/api/mcp"
                        }
                    }
                }

                group "Servers" {
                    http = component "HTTP server" "Composes the doors on the network: limits, logs, metrics, health, starting and stopping." "Go, net/http" {
                        properties {
                            path "/api"
                        }
                    }
                    gate = component "Gate" "Says who calls, refuses whom it must, bounds how much anyone can ask." "Go" {
                        properties {
                            path "/api/auth"
                        }
                    }
                    client = component "Client" "The domain of a server over REST: tries again, never doubles a write." "Go, net/http" {
                        properties {
                            path "/api/client"
                        }
                    }
                }

                group "Domain" {
                    memory = component "Memory" "Kinds, remember, recall and ranking, links, lifecycle, knowledge map; declares the Store it needs." "Go" {
                        properties {
                            path "/memory"
                        }
                    }
                    session = component "Session" "Work sessions: leases and the gate, signs of life, briefings, outcomes, citations, follow-ups." "Go" {
                        properties {
                            path "/session"
                        }
                    }
                    hook = component "Hook" "What happens at the events of an agent's client: what is known arrives, what was done is kept, sentences become candidates." "Go" {
                        properties {
                            path "/hook"
                        }
                    }
                    wire = component "Hook wire" "What clients write to the program they call at an event, and what they read from it." "Go" {
                        properties {
                            path "/hook/wire"
                        }
                    }
                    local = component "Hook state" "What the hooks of one machine keep between two events; a log without texts." "Go" {
                        properties {
                            path "/hook/local"
                        }
                    }
                    summary = component "Hook summary" "Asks a model that an operator chose what a conversation came to, and believes little of the answer." "Go" {
                        properties {
                            path "/hook/summary"
                        }
                    }
                    transcript = component "Transcript" "Reads the conversations that clients keep, where they lie, and keeps nothing of them." "Go" {
                        properties {
                            path "/transcript"
                        }
                    }
                    review = component "Review" "The queue of memories that a person should look at, derived each time it is read; decisions, undo, history, digest." "Go" {
                        properties {
                            path "/review"
                        }
                    }
                    doctor = component "Doctor" "Asks whether everything is there, one thing after the other, and says what to do about it." "Go" {
                        properties {
                            path "/doctor"
                        }
                    }
                    install = component "Installation in clients" "Writes Stele into the settings of agents' clients and takes it out again, changing nothing else in the files." "Go, hujson, go-toml" {
                        properties {
                            path "/install"
                        }
                    }
                    importer = component "Imports of memories" "Hands records of other tools to the domain, batch by batch; readers of memsearch, claude-mem, our exports and files of sections." "Go" {
                        properties {
                            path "/importer"
                        }
                    }
                    export = component "Export" "Writes memories as Markdown for people and JSON for programs." "Go" {
                        properties {
                            path "/memory/export"
                        }
                    }
                    terms = component "Terms" "Turns text into search terms: words, identifiers whole and split, stems, bigrams." "Go, UAX 29, Snowball" {
                        properties {
                            path "/memory/terms"
                        }
                    }
                    index = component "Index" "Words, standing and vectors of a space in the memory of a process, and a search over them." "Go, AVX2" {
                        properties {
                            path "/memory/index"
                        }
                    }
                    facts = component "Facts" "Decides whether two texts state the same facts, before anything merges." "Go" {
                        properties {
                            path "/memory/facts"
                        }
                    }
                    redact = component "Redaction" "Takes keys, tokens and passwords out of texts before they are stored." "Go" {
                        properties {
                            path "/internal/redact"
                        }
                    }
                    c4 = component "C4 model" "Elements, relationships, decisions and bindings; identity on re-import." "Go" {
                        properties {
                            path "/c4model"
                        }
                    }
                    diagram = component "Diagrams" "Says what belongs to a C4 view of a model, places it, and draws it as SVG." "Go" {
                        properties {
                            path "/c4model/diagram"
                        }
                    }
                    formats = component "Model formats" "Finds the model of a folder and hands it to the reader of its format." "Go" {
                        properties {
                            path "/c4model/formats"
                        }
                    }
                    structurizr = component "Structurizr reader" "Reads Structurizr DSL and workspace JSON, confined to one folder." "Go" {
                        properties {
                            path "/c4model/structurizr"
                        }
                    }
                    likec4 = component "LikeC4 reader" "Reads the folder of a LikeC4 project as one model." "Go" {
                        properties {
                            path "/c4model/likec4"
                        }
                    }
                    plantuml = component "C4-PlantUML reader" "Reads C4 diagrams of PlantUML and Mermaid and merges them into one model." "Go" {
                        properties {
                            path "/c4model/plantuml"
                        }
                    }
                    retrieval = component "Retrieval sets" "Sets of memories and questions to measure recall by, and the scores of a run." "Go" {
                        properties {
                            path "/internal/retrieval"
                        }
                    }
                    measure = component "Measurement" "Runs a retrieval set through the product, on a database of its own." "Go" {
                        properties {
                            path "/internal/retrieval/measure"
                        }
                    }
                    benchrecall = component "Load bench" "Loads invented memories into a database of its own, puts a mixed load on the domain, says where the time goes." "Go" {
                        properties {
                            path "/internal/bench/recall"
                        }
                    }
                    embedding = component "Embedding" "The seam to sentence encoders; everything works without one." "Go" {
                        properties {
                            path "/embedding"
                        }
                    }
                    uselite = component "Built-in encoder" "Vectors of English texts on the processor: language gate, tokeniser, int8 weights in the binary." "Go, AVX2" {
                        properties {
                            path "/embedding/uselite"
                        }
                    }
                    remote = component "Providers on the network" "Vectors from OpenAI-compatible endpoints and Ollama: redacts what leaves, checks what comes, leaves alone who is away." "Go, net/http" {
                        properties {
                            path "/embedding/remote"
                        }
                    }
                }

                group "Drift" {
                    drift = component "Drift" "Compares a model with a commit: findings, score, history." "Go" {
                        properties {
                            path "/drift"
                        }
                    }
                    report = component "Drift reports" "Writes findings as Markdown, SARIF and a patch of model and stele.yaml." "Go" {
                        properties {
                            path "/drift/report"
                        }
                    }
                    imports = component "Imports" "What source files import, and which files of the repository that means." "Go" {
                        properties {
                            path "/drift/imports"
                        }
                    }
                    evidence = component "Evidence" "What texts claim about code, followed through history." "Go" {
                        properties {
                            path "/drift/evidence"
                        }
                    }
                    staleness = component "Staleness bench" "Measures, on a history, which alarms about statements are right." "Go" {
                        properties {
                            path "/drift/staleness"
                        }
                    }
                    since = component "Since" "What happened to files between two commits: lines before and after, and in which commits." "Go" {
                        properties {
                            path "/drift/since"
                        }
                    }
                    draft = component "Draft" "Proposes a model for a repository that has none." "Go" {
                        properties {
                            path "/drift/draft"
                        }
                    }
                    bind = component "Binding suggestions" "Proposes which files an element stands for, by names." "Go" {
                        properties {
                            path "/drift/bind"
                        }
                    }
                    action = component "GitHub Action" "Reads the job of a runner, finds what to compare with, keeps the comment of a pull request." "Go, go-github" {
                        properties {
                            path "/action"
                        }
                    }
                    github = component "GitHub" "Reads signed webhooks; asks whether a branch has a commit." "Go, go-github" {
                        properties {
                            path "/drift/github"
                        }
                    }
                    git = component "Git" "Reads commits, trees, texts and history by the git program." "Go, git" {
                        properties {
                            path "/internal/git"
                        }
                    }
                }

                group "Storage" {
                    store = component "Memory store" "The Store on PostgreSQL: SQL, transactions, and sealing below the domain." "Go, pgx" {
                        properties {
                            path "/memory/postgres"
                        }
                    }
                    postgres = component "Database access" "Connections as stele_app, the transaction of one organization, migrations under a lock." "Go, pgx, goose" {
                        properties {
                            path "/internal/postgres"
                        }
                    }
                    verify = component "Backup verification" "Restores a backup into a scratch database, compares it, opens its texts." "Go, pgx" {
                        properties {
                            path "/internal/postgres/verify"
                        }
                    }
                    cluster = component "Embedded cluster" "Runs the installed PostgreSQL as a private cluster; starts, shares, stops, backs up." "Go" {
                        properties {
                            path "/internal/postgres/embedded"
                        }
                    }
                    testdb = component "Test databases" "Gives every test a database of its own, on a real server." "Go" {
                        properties {
                            path "/internal/postgres/pgtest"
                        }
                    }
                    secret = component "Secrets" "Master key, keys of each organization, sealing, keyed hashes." "Go, Tink" {
                        properties {
                            path "/internal/secret"
                        }
                    }
                }

                group "Machine" {
                    setup = component "Set-up" "Installs PostgreSQL and pgvector where they are missing, showing the commands first." "Go" {
                        properties {
                            path "/internal/setup"
                        }
                    }
                    installation = component "Installation" "Finds the PostgreSQL programs on this machine." "Go" {
                        properties {
                            path "/internal/postgres/installation"
                        }
                    }
                    config = component "Configuration" "Flags over environment over file over defaults; stele.yaml of a repository." "Go" {
                        properties {
                            path "/internal/config"
                        }
                    }
                    checkout = component "Checkout" "What git says about the working tree: identity, commit, branch, tree." "Go, git" {
                        properties {
                            path "/internal/config/checkout"
                        }
                    }
                    filelock = component "File lock" "Keeps processes of one machine apart." "Go" {
                        properties {
                            path "/internal/filelock"
                        }
                    }
                    endpoint = component "Endpoint" "Reads the addresses that texts and keys are sent to." "Go" {
                        properties {
                            path "/internal/endpoint"
                        }
                    }
                    loopback = component "Loopback" "Knows what is called this machine." "Go" {
                        properties {
                            path "/internal/loopback"
                        }
                    }
                    webhook = component "Webhook" "Posts signed messages to an address outside, and to none inside the network." "Go" {
                        properties {
                            path "/internal/webhook"
                        }
                    }
                    problem = component "Problem" "The one error for people: what was wrong, where, and how to fix it." "Go" {
                        properties {
                            path "/internal/problem"
                        }
                    }
                }
            }

            database = container "Database" "Tables, policies and indexes of every tenant; no word of any memory in the clear." "PostgreSQL, pgvector" {
                properties {
                    path "/migrations"
                }
            }
        }

        // Who uses what.
        developer -> stele.program.cli "Remembers, recalls, confirms, looks at the map" "Shell"
        reviewer -> stele.program.cli "Confirms, disputes, supersedes, retires" "Shell"
        operator -> stele.program.cli "Sets up, migrates, backs up" "Shell"
        operator -> server "Runs, in STELE_DATABASE_URL mode"
        agent -> stele.program.mcp "remember, recall, confirm_memory" "MCP over stdio"
        stele.program.postgres -> server "Serves from, in STELE_DATABASE_URL mode" "PostgreSQL protocol"
        stele.program.cluster -> stele.database "Starts and stops, by default" "unix socket"

        // What imports what. A relationship without a technology is an import.
        stele.program.cli -> stele.program.mcp "Serves agents over standard input and output"
        stele.program.cli -> stele.program.http "Serves the network"
        stele.program.cli -> stele.program.gate "Sets its limits"
        stele.program.cli -> stele.program.memory "Asks the domain"
        stele.program.cli -> stele.program.session "Starts and ends work sessions, sweeps those that are silent"
        stele.program.cli -> stele.program.client "Asks the domain of a server, when one is set"
        stele.program.cli -> stele.program.store "Gives the domain its Store"
        stele.program.cli -> stele.program.postgres "Opens, migrates and backs up the database"
        stele.program.cli -> stele.program.verify "Proves backups"
        stele.program.cli -> stele.program.export "Writes everything out"
        stele.program.cli -> stele.program.installation "Hands on which programs to use"
        stele.program.cli -> stele.program.cluster "Starts and stops the embedded database"
        stele.program.cli -> stele.program.setup "Installs what is missing"
        stele.program.cli -> stele.program.config "Reads what is set"
        stele.program.cli -> stele.program.checkout "Finds the project and the commit"
        stele.program.cli -> stele.program.git "Opens the repository"
        stele.program.cli -> stele.program.evidence "Checks documents"
        stele.program.cli -> stele.program.staleness "Measures alarms on a history"
        stele.program.cli -> stele.program.c4 "Imports and compares models"
        stele.program.cli -> stele.program.diagram "Draws views"
        stele.program.cli -> stele.program.formats "Reads models"
        stele.program.cli -> stele.program.secret "Loads the master key"
        stele.program.cli -> stele.program.loopback "Keeps the token of this machine here"
        stele.program.cli -> stele.program.bind "Proposes bindings"
        stele.program.cli -> stele.program.review "Shows and decides what should be looked at"
        stele.program.cli -> stele.program.webhook "Sends digests"
        stele.program.cli -> stele.program.problem "Turns problems into one line and an exit code"

        stele.program.client -> stele.program.memory "Sends and receives its requests"
        stele.program.client -> stele.program.session "Sends and receives its requests"
        stele.program.client -> stele.program.c4 "Sends models"
        stele.program.client -> stele.program.diagram "Receives views"
        stele.program.client -> stele.program.review "Sends and receives its requests"
        stele.program.client -> stele.program.loopback "Sends a token in plain nowhere else"
        stele.program.client -> stele.program.problem "Turns answers back into problems"

        stele.program.http -> stele.program.gate "Puts it before every door"
        stele.program.http -> stele.program.rest "Serves it"
        stele.program.http -> stele.program.mcp "Serves it"
        stele.program.http -> stele.program.doctor "Has the server examined"
        stele.program.rest -> stele.program.doctor "Shows what was found"
        stele.program.client -> stele.program.doctor "Reads what a server found of itself"
        stele.program.cli -> stele.program.doctor "Composes what is examined"
        stele.program.http -> stele.program.memory "Hands the domain to the doors"
        stele.program.http -> stele.program.diagram "Draws views on pages"
        stele.program.http -> stele.program.review "Hands the queue to the doors"
        stele.program.http -> stele.program.session "Puts it beside memory for every door"
        stele.program.http -> stele.program.c4 "Shows the model on pages"
        stele.program.http -> stele.program.drift "Shows what runs found on pages"
        stele.program.http -> stele.program.problem "Says what was refused"
        stele.program.rest -> stele.program.gate "Learns who calls"
        stele.program.rest -> stele.program.eventstream "Streams events as JSON"
        stele.program.client -> stele.program.eventstream "Knows how a stream is asked for"
        stele.program.cli -> stele.program.eventstream "Looks at the database as often"
        stele.program.http -> stele.program.eventstream "Streams events as parts of a page"
        stele.program.eventstream -> stele.program.memory "Sends its events"
        stele.program.eventstream -> stele.program.problem "Tells what ends a stream from what it outlives"
        stele.program.rest -> stele.program.review "Translates requests into its calls"
        stele.program.gate -> stele.program.memory "Looks tokens up"
        stele.program.gate -> stele.program.loopback "Compares names of the server"
        stele.program.gate -> stele.program.problem "Says what was refused"

        stele.program.mcp -> stele.program.memory "Translates tools into calls of the domain"
        stele.program.mcp -> stele.program.session "Translates tools into work sessions"
        stele.program.mcp -> stele.program.drift "Shows reports of runs"
        stele.program.mcp -> stele.program.review "Translates tools into its calls"
        stele.program.mcp -> stele.program.problem "Turns problems into results an agent can act on"

        stele.program.cli -> stele.program.importer "Brings what other tools keep"
        stele.program.importer -> stele.program.memory "Hands over records"
        stele.program.importer -> stele.program.terms "Brings equal texts together"
        stele.program.importer -> stele.program.export "Reads what was exported"
        stele.program.importer -> stele.program.filelock "Has syncs of one folder take turns"
        stele.program.cli -> stele.program.filelock "Has one sync wait for another, and no more"
        stele.program.importer -> stele.program.problem "Says what is wrong with a file"
        stele.program.export -> stele.program.memory "Reads what the caller may see"
        stele.program.export -> stele.program.problem "Says what it would write over"
        stele.program.rest -> stele.program.memory "Translates requests into calls of the domain"
        stele.program.rest -> stele.program.session "Translates requests into work sessions"
        stele.program.rest -> stele.program.c4 "Reads and shows models"
        stele.program.rest -> stele.program.diagram "Describes views"
        stele.program.rest -> stele.program.drift "Describes reports of runs"
        stele.program.rest -> stele.program.config "Writes bindings as stele.yaml has them"
        stele.program.rest -> stele.program.problem "Turns problems into problem+json"

        stele.program.http -> stele.program.hook "Puts it beside memory for every door"
        stele.program.rest -> stele.program.hook "Translates the events of clients"
        stele.program.client -> stele.program.hook "Sends and receives its requests"
        stele.program.cli -> stele.program.hook "Tells it of the events of clients"
        stele.program.cli -> stele.program.wire "Reads what clients tell, and answers them"
        stele.program.cli -> stele.program.local "Keeps what the next hook needs"
        stele.program.cli -> stele.program.transcript "Reads conversations"
        stele.program.wire -> stele.program.hook "Speaks of its events and answers"
        stele.program.wire -> stele.program.transcript "Finds the files of a patch"
        stele.program.local -> stele.program.hook "Keeps how the project stood"
        stele.program.local -> stele.program.filelock "Counts the tokens of a day, one hook at a time"
        stele.program.cli -> stele.program.summary "Asks a model at the end of a conversation"
        stele.program.summary -> stele.program.memory "Makes plain text and counts tokens by its rules"
        stele.program.summary -> stele.program.redact "Cleans what leaves the process, and what comes back"
        stele.program.summary -> stele.program.endpoint "Reads the address it asks"
        stele.program.summary -> stele.program.problem "Says what was wrong"
        stele.program.hook -> stele.program.memory "Recalls, tells of files and places candidates by its rules"
        stele.program.hook -> stele.program.session "Starts, beats, observes and finishes work sessions"
        stele.program.hook -> stele.program.terms "Compares words without case"
        stele.program.hook -> stele.program.problem "Says what was wrong"
        stele.program.session -> stele.program.memory "Writes outcomes and recalls by its rules, in one transaction"
        stele.program.session -> stele.program.terms "Compares titles and follow-ups without case"
        stele.program.session -> stele.program.problem "Says what was wrong"
        stele.program.review -> stele.program.memory "Decides by its rules, in one transaction"
        stele.program.review -> stele.program.drift "Knows the findings behind doubts"
        stele.program.review -> stele.program.c4 "Matches the files of owners"
        stele.program.review -> stele.program.problem "Says what was wrong"
        stele.program.cli -> stele.program.install "Shows what would change, asks, and tries what was installed"
        stele.program.install -> stele.program.problem "Says which file it cannot edit, where, and what to add by hand"
        stele.program.doctor -> stele.program.memory "Judges the counts of an organization"
        stele.program.doctor -> stele.program.problem "Says what was wrong in its words"
        stele.program.memory -> stele.program.terms "Finds the words of texts and queries"
        stele.program.memory -> stele.program.facts "Guards merges"
        stele.program.memory -> stele.program.c4 "Attaches to elements, matches paths"
        stele.program.memory -> stele.program.diagram "Has views of the model made"
        stele.program.memory -> stele.program.drift "Takes reports of runs"
        stele.program.memory -> stele.program.evidence "Finds claims in texts, takes verdicts on them"
        stele.program.memory -> stele.program.redact "Cleans what comes in"
        stele.program.memory -> stele.program.embedding "Asks for vectors"
        stele.program.memory -> stele.program.problem "Says what was wrong"
        stele.program.cli -> stele.program.embedding "Chooses an encoder"
        stele.program.cli -> stele.program.uselite "Embeds with it by default"
        stele.program.cli -> stele.program.remote "Embeds with a provider on the network"
        stele.program.cli -> stele.program.retrieval "Loads sets"
        stele.program.cli -> stele.program.measure "Measures recall"
        stele.program.measure -> stele.program.retrieval "Reads sets, scores runs"
        stele.program.measure -> stele.program.memory "Remembers and asks"
        stele.program.measure -> stele.program.embedding "Hands on which encoder to use"
        stele.program.measure -> stele.program.c4 "Makes the models of a set"
        stele.program.measure -> stele.program.problem "Refuses tasks about no element"
        stele.program.cli -> stele.program.benchrecall "Measures speed"
        stele.program.benchrecall -> stele.program.memory "Asks, remembers, confirms"
        stele.program.benchrecall -> stele.program.importer "Imports invented records"
        stele.program.benchrecall -> stele.program.session "Starts and finishes work sessions"
        stele.program.benchrecall -> stele.program.hook "Tells of prompts and edits"
        stele.program.benchrecall -> stele.program.store "Loads memories"
        stele.program.benchrecall -> stele.program.postgres "Asks how busy the database was, tidies it"
        stele.program.benchrecall -> stele.program.embedding "Times the encoder"
        stele.program.benchrecall -> stele.program.terms "Takes the words of questions"
        stele.program.benchrecall -> stele.program.c4 "Makes models"
        stele.program.benchrecall -> stele.program.problem "Says which share is none"
        stele.program.retrieval -> stele.program.terms "Compares the words of questions and memories"
        stele.program.retrieval -> stele.program.problem "Says which line of a set is wrong"
        stele.program.uselite -> stele.program.embedding "Is a provider"
        stele.program.uselite -> stele.program.problem "Says that the weights are damaged"
        stele.program.remote -> stele.program.embedding "Is a provider"
        stele.program.remote -> stele.program.redact "Cleans what leaves the process"
        stele.program.remote -> stele.program.endpoint "Reads the address it asks"
        stele.program.endpoint -> stele.program.loopback "Knows what needs no encryption on the way"
        stele.program.endpoint -> stele.program.problem "Says what is wrong with an address"
        stele.program.remote -> stele.program.problem "Says who is away, or which setting is wrong"
        stele.program.formats -> stele.program.c4 "Hands models on"
        stele.program.formats -> stele.program.structurizr "Reads Structurizr models"
        stele.program.formats -> stele.program.likec4 "Reads LikeC4 models"
        stele.program.formats -> stele.program.plantuml "Reads C4 diagrams"
        stele.program.formats -> stele.program.problem "Says which formats there are"
        stele.program.structurizr -> stele.program.c4 "Makes models"
        stele.program.structurizr -> stele.program.problem "Says what was expected where"
        stele.program.likec4 -> stele.program.c4 "Makes models"
        stele.program.likec4 -> stele.program.problem "Says what was expected where"
        stele.program.plantuml -> stele.program.c4 "Makes models"
        stele.program.plantuml -> stele.program.problem "Says what was expected where"
        stele.program.bind -> stele.program.c4 "Proposes files for its elements"
        stele.program.bind -> stele.program.imports "Knows the languages of files"
        stele.program.c4 -> stele.program.problem "Says what was wrong"
        stele.program.diagram -> stele.program.c4 "Reads elements and relations"
        stele.program.diagram -> stele.program.problem "Says what was wrong"

        stele.program.store -> stele.program.memory "Implements its Store"
        stele.program.store -> stele.program.review "Implements its Store"
        stele.program.store -> stele.program.index "Holds the spaces that are asked most, and tells it what changed"
        stele.program.index -> stele.program.memory "Ranks as it says"
        stele.program.http -> stele.program.index "Counts what it holds"
        stele.program.store -> stele.program.session "Implements its Store"
        stele.program.store -> stele.program.c4 "Keeps models"
        stele.program.store -> stele.program.postgres "Runs in the transaction of one organization"
        stele.program.store -> stele.program.secret "Seals texts, hashes terms"
        stele.program.store -> stele.program.problem "Says what was wrong"
        stele.program.postgres -> stele.database "Migrates it"
        stele.program.postgres -> stele.program.installation "Knows which releases will do"
        stele.program.postgres -> stele.program.problem "Says what was wrong"
        stele.program.verify -> stele.program.postgres "Takes backups, restores them into a scratch database"
        stele.program.verify -> stele.program.installation "Is told which programs to use"
        stele.program.verify -> stele.program.secret "Opens keys and texts"
        stele.program.verify -> stele.program.problem "Says what a backup lacks"
        stele.program.cluster -> stele.program.postgres "Makes roles and database, watches who is connected"
        stele.program.cluster -> stele.program.installation "Runs its programs"
        stele.program.cluster -> stele.program.problem "Says what was wrong"
        stele.program.testdb -> stele.program.postgres "Prepares the server, migrates a template"
        stele.program.testdb -> stele.program.cluster "Runs a server for tests"
        stele.program.testdb -> stele.database "Names a template by the migrations it holds"
        stele.program.secret -> stele.program.problem "Says which key is missing"

        stele.program.setup -> stele.program.installation "Looks for PostgreSQL and pgvector"
        stele.program.setup -> stele.program.problem "Says what to do by hand"
        stele.program.installation -> stele.program.problem "Names the fix"
        stele.program.config -> stele.program.problem "Names the variable, or file and line"
        stele.program.config -> stele.program.c4 "Asks what a glob of a binding may be"
        stele.program.checkout -> stele.program.problem "Says what git refused"
        stele.program.http -> stele.program.github "Believes signed events"
        stele.program.cli -> stele.program.github "Asks whether a branch has a commit"
        stele.program.github -> stele.program.problem "Says whose signature is missing"
        stele.program.git -> stele.program.problem "Says what git refused"
        stele.program.drift -> stele.program.evidence "Aims the watch list at bound files"
        stele.program.evidence -> stele.program.git "Reads commits and their history"
        stele.program.evidence -> stele.program.c4 "Matches patterns of bindings"
        stele.program.evidence -> stele.program.problem "Says which document is missing"
        stele.program.staleness -> stele.program.evidence "Asks at each step what it would say"
        stele.program.staleness -> stele.program.git "Walks a history"
        stele.program.staleness -> stele.program.problem "Says where a walk cannot begin"

        stele.program.cli -> stele.program.drift "Compares a model with a commit, holds gates"
        stele.program.cli -> stele.program.report "Writes what the comparison found"
        stele.program.cli -> stele.program.action "Runs in a job of GitHub Actions"
        stele.program.action -> stele.program.drift "Holds gates, marks what is new"
        stele.program.action -> stele.program.report "Writes summary and comment"
        stele.program.action -> stele.program.git "Finds the commit to compare with, fetches what is missing"
        stele.program.action -> stele.program.loopback "Sends a token in plain nowhere else"
        stele.program.action -> stele.program.problem "Says which input is wrong"
        stele.program.webhook -> stele.program.problem "Says why a message did not arrive"
        stele.program.cli -> stele.program.imports "Keeps what files import between runs"
        stele.program.drift -> stele.program.c4 "Reads elements, relationships and bindings"
        stele.program.drift -> stele.program.formats "Reads the model of a commit"
        stele.program.drift -> stele.program.imports "Asks what files import"
        stele.program.drift -> stele.program.git "Reads commits, trees and history"
        stele.program.drift -> stele.program.config "Reads the stele.yaml of a commit"
        stele.program.drift -> stele.program.problem "Says what cannot be compared"
        stele.program.cli -> stele.program.draft "Has a model proposed"
        stele.program.since -> stele.program.git "Reads commits, changes and texts"
        stele.program.since -> stele.program.c4 "Tells which files a pattern means"
        stele.program.cli -> stele.program.since "Compares the code of a memory"
        stele.program.http -> stele.program.since "Shows code then and now"
        stele.program.draft -> stele.program.drift "Asks what a model has to explain, and compares its proposal"
        stele.program.draft -> stele.program.imports "Knows languages, and what packages are programs"
        stele.program.draft -> stele.program.structurizr "Reads its proposal as everybody will"
        stele.program.draft -> stele.program.c4 "Folds names, makes identifiers"
        stele.program.draft -> stele.program.git "Reads manifests and documentation of a commit"
        stele.program.draft -> stele.program.problem "Says that there is nothing to draft"
        stele.program.report -> stele.program.drift "Writes its findings"
        stele.program.report -> stele.program.config "Changes stele.yaml"
        stele.program.report -> stele.program.c4 "Recognises patterns of bindings"
    }

    views {
        systemContext stele "Context" {
            include *
            autoLayout lr
        }
        container stele "Containers" {
            include *
            autoLayout lr
        }
        component stele.program "Components" {
            include *
            autoLayout tb
        }
        styles {
            element "Person" {
                shape Person
            }
            element "External" {
                background #999999
            }
        }
    }
}
