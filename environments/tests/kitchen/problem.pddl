; A kitchen of ours for the tests: an apple on the counter, a mug in the sink, an empty fridge.
(define (problem kitchen)
    (:domain alfred)
    (:objects
        agent1 - agent
        loc_bar_1 - location
        loc_bar_2 - location
        loc_bar_3 - location
        loc_bar_4 - location
        Apple_bar_1 - object
        Mug_bar_1 - object
        CounterTop_bar_1 - receptacle
        Fridge_bar_1 - receptacle
        Sink_bar_1_bar_SinkBasin - receptacle
        AppleType - otype
        MugType - otype
        DeskLampType - otype
        FloorLampType - otype
        KnifeType - otype
        ButterKnifeType - otype
        CounterTopType - rtype
        FridgeType - rtype
        SinkBasinType - rtype
        MicrowaveType - rtype
    )
    (:init
        (= (total-cost) 0)
        (atLocation agent1 loc_bar_1)
        (receptacleAtLocation CounterTop_bar_1 loc_bar_2)
        (receptacleAtLocation Fridge_bar_1 loc_bar_3)
        (receptacleAtLocation Sink_bar_1_bar_SinkBasin loc_bar_4)
        (receptacleType CounterTop_bar_1 CounterTopType)
        (receptacleType Fridge_bar_1 FridgeType)
        (receptacleType Sink_bar_1_bar_SinkBasin SinkBasinType)
        (openable Fridge_bar_1)
        (objectType Apple_bar_1 AppleType)
        (objectType Mug_bar_1 MugType)
        (pickupable Apple_bar_1)
        (pickupable Mug_bar_1)
        (inReceptacle Apple_bar_1 CounterTop_bar_1)
        (inReceptacle Mug_bar_1 Sink_bar_1_bar_SinkBasin)
        (objectAtLocation Apple_bar_1 loc_bar_2)
        (objectAtLocation Mug_bar_1 loc_bar_4)
        (canContain CounterTopType AppleType)
        (canContain CounterTopType MugType)
        (canContain FridgeType AppleType)
        (canContain FridgeType MugType)
        (canContain SinkBasinType AppleType)
        (canContain SinkBasinType MugType)
    )
    (:goal
        (exists (?r - receptacle ?o - object)
            (and (inReceptacle ?o ?r) (receptacleType ?r FridgeType) (objectType ?o AppleType))
        )
    )
)
