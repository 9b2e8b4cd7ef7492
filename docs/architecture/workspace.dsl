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
                path "/internal/repocheck"
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
                    mcp = component "MCP server" "Tools for agents over stdio; translates, never decides." "Go, mcp-go" {
                        properties {
                            path "/api/mcp"
                        }
                    }
                }

                group "Domain" {
                    memory = component "Memory" "Kinds, remember, recall and ranking, links, lifecycle, knowledge map; declares the Store it needs." "Go" {
                        properties {
                            path "/memory"
                        }
                    }
                    terms = component "Terms" "Turns text into search terms: words, identifiers whole and split, stems, bigrams." "Go, UAX 29, Snowball" {
                        properties {
                            path "/memory/terms"
                        }
                    }
                    facts = component "Facts" "Decides whether two texts state the same facts, before anything merges." "Go" {
                        properties {
                            path "/memory/facts"
                        }
                    }
                    c4 = component "C4 model" "Elements, relationships, decisions and bindings; identity on re-import." "Go" {
                        properties {
                            path "/c4model"
                        }
                    }
                    structurizr = component "Structurizr reader" "Reads Structurizr DSL and workspace JSON, confined to one folder." "Go" {
                        properties {
                            path "/c4model/structurizr"
                        }
                    }
                    embedding = component "Embedding" "The seam to sentence encoders; everything works without one." "Go" {
                        properties {
                            path "/embedding"
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
                    cluster = component "Embedded cluster" "Runs the installed PostgreSQL as a private cluster; starts, shares, stops, backs up." "Go" {
                        properties {
                            path "/internal/postgres/embedded"
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

        // What imports what.
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
