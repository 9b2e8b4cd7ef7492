/*
 * A library that lends lanterns. Comment header before everything.
 */
!const PRODUCT "Lantern Library"
!constant REGION north
!var STORE "Lantern store"

# constants are legal before the workspace
workspace "${PRODUCT}" "Lends lanterns in the ${REGION}." {

    !identifiers flat
    !docs handbook
    !impliedRelationships true

    model {
        properties {
            "structurizr.groupSeparator" "."
        }

        /* one line */
        /** several
            lines
        */
        reader = person "Reader" "Borrows lanterns." "Walk-in, Member"

        post = softwareSystem "Post Office" "Delivers parcels." "External System"
        group Workshop {
            group "Front.Desk" {
                lending = softwareSystem "${PRODUCT}" {
                    description "Knows which lantern is where."
                    tags "Core","Blue" , last
                    url https://example.org/lending
                    properties {
                        path "services/lending"
                        owner "the desk"
                        stele.id lending-1
                    }
                    perspectives {
                        "Security" "Reviewed each spring."
                    }

                    web = container "Web" "Shows shelves." "Go, HTML" "Browser"
                    store = CONTAINER "${STORE}" "PostgreSQL"
                    container Worker {
                        technology Go
                        tag Task
                        -> store "Reads"
                        component "Reminder" "Writes letters." "Go" {
                            group "Letters"
                            -> post "Sends letters with" "Paper" "Slow,Paper"
                        }
                        component "..." "Nobody named it."
                        component "Reminder" "A second one."
                    }
                    container "Import" {
                        component "Reminder"
                    }
                    web -> Store "Reads and writes" "SQL"
                } // words after the closing brace do not matter
            }
        }

        reader -> web "Looks for lanterns with" "HTTPS"
        reader -> lending "Asks"
        late = lending -> post "Sends parcels with" {
            technology "Cart"
            tags "Heavy"
            url https://example.org/cart
            properties {
                weight 12
            }
        }
        !relationship late {
            tag "Daily"
        }
        !ref post {
            description "Delivers parcels and letters."
        }
        !extend web {
            properties {
                src "web"
            }
        }
        !element "Container://Lantern Library.Import" {
            tag "Nightly"
        }

        live = deploymentEnvironment "Live" {
            node = deploymentNode "Barn" {
                tags "Wood"
                webInstance = containerInstance web
                lamp = infrastructureNode "Lamp" {
                    properties {
                        component "is no component here"
                    }
                }
            }
            lamp -> webInstance "Lights"
        }
        !element node {
            deploymentNode "Loft"
        }
    }

    views {
        !const COLOUR #101010
        container lending {
            include *
            component "this word means something else here"
        }
        dynamic lending "Borrowing" {
            reader -> web "Asks"
            {
                {
                    web -> store "Looks"
                }
            }
        }
        styles {
            element "Person" {
                background ${COLOUR}
            }
        }
    }

    configuration {
        scope softwaresystem
        users {
            someone@example.org read
        }
    }
}
