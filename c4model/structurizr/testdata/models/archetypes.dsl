workspace "Bakery" {
    model {
        archetypes {
            softwareSystem {
                description "A system."
                tag "House"
                properties {
                    owner bakers
                }
            }
            service = container {
                technology "Go"
                tags "Service"
                perspectives {
                    "Security" "Closed."
                }
            }
            oven = service {
                description "Hot."
                tag "Oven"
            }
            counter = group
            stall = deploymentEnvironment
            -> {
                technology "Voice"
            }
            sync = -> {
                tag "Sync"
            }
            https = --sync-> {
                technology "HTTPS"
                tag "HTTPS"
            }
            robot = element {
                metadata "Steel"
            }
        }
        shop = softwareSystem "Shop" {
            counter "Front" {
                till = service "Till" "Takes money."
                stone = Oven "Stone oven" "" "Stone" "Old"
            }
            till -> stone "Calls"
            till --https-> stone "Orders from"
        }
        mill = softwareSystem "Mill" "Grinds." {
            --sync-> till "Delivers to" "Cart"
        }
        market = stall "Market" {
            deploymentNode "Table"
        }
        arm = robot "Arm"
        arm -> mill "Lifts"
    }
}
