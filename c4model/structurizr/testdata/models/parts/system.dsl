press = softwareSystem "Press" {
    !include container.dsl
    !adrs ../adr {
        exclude "0002-.*"
    }
}
