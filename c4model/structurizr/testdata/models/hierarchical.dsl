workspace "Observatory" {
    !identifiers hierarchical
    model {
        astronomer = person "Astronomer"
        archive = softwareSystem "Archive" "Keeps plates." "Legacy" {
            index = container "Index"
        }
        dome = softwareSystem "Dome" {
            log = container "Log"
            control = container "Control" "Turns the dome." "Go" {
                motor = component "Motor" "" "Go"
                astronomer = component "Clock" "" "Rust" {
                    motor -> this "Asks for the time"
                }
                motor -> astronomer "Waits for"
                motor -> archive.index "Writes plates to" "" "Future"
                used = dome.log -> this "Wakes"
            }
            !elements "element.parent==control && element.technology!=Rust" {
                tags "Part"
                url "https://example.org/parts"
                properties {
                    kind moving
                }
                this -> log "Reports to" {
                    tag "Quiet"
                }
                -> dome.log "Warns"
                astronomer -> this "Greases"
            }
            !element control.motor {
                description "Moves the dome."
            }
        }
        softwareSystem "Weather" {
            station = container "Station" {
                probe = component "Probe"
                -> dome.control "Warns of rain"
            }
            station -> dome.log "Writes"
        }
        station -> archive "Old files name children of unnamed parents directly"

        !relationships "*->archive.index" {
            technology "Glass"
        }
        !relationships "relationship.tag==Quiet || relationship==used" {
            tag "Selected"
        }
        dome.control -> archive "Asks"
        dome.control -/> archive "Asks" {
            dome.control -> archive.index "Asks"
        }
        team = group "Night" {
            softwareSystem "Kitchen"
            softwareSystem "Garage"
        }
        !elements team {
            astronomer -> this "Visits"
        }
        deploymentEnvironment "Hill" {
            tower = deploymentNode "Tower" {
                dome = deploymentNode "Cabinet" {
                    containerInstance dome.log
                }
            }
            dome.log -/> archive.index {
                tower -> tower.dome
            }
        }
    }
}
