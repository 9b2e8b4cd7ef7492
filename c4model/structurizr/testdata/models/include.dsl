!const FOLDER parts
workspace "Orchard" \
    "Grows \"old\" apples." {
    !identifiers hierarchical
    model {
        !include "${FOLDER}/people"
        !include parts/system.dsl
        note = softwareSystem "Notes" """
            First line,
              second line.
            """
        single = softwareSystem "Single" """One line."""
        !include https://example.org/more.dsl
        !include ../../../outside.dsl
    }
    views {
        !include no/such/file.dsl
        image * {
            plantuml """
                } not a brace {
            """
        }
    }
    !adrs adr
    !script groovy {
        elements.each {
            println "x\n"
        };
    }
}
