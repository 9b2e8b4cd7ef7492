workspace extends base.json {
    model {
        !identifiers hierarchical
        !element tower {
            stair = container "Stair"
        }
        !element "Container://Tower.Horn" {
            tag "Loud"
        }
        tower.stair -> tower.lamp "Leads to"
        pilot -> tower.stair "Climbs"
    }
}
