//! Patterns of prompt injection: names and regular expressions.

/// Patterns over letters and digits alone: lower case, without accents, spaces and punctuation.
pub(super) const SQUEEZED: &[(&str, &str)] = &[
    // English
    (
        "ignore-instructions",
        "(?:ignore|disregard|forget|override|bypass)(?:all|any|every|each)?(?:of)?(?:the|your|my|these|those|its)?\
         (?:all)?(?:previous|prior|above|preceding|earlier|former|foregoing|existing|original|initial|system|current)\
         (?:and(?:above|prior|previous))?(?:system|safety|given)?(?:instruction|prompt|directive|guideline|rules|programming|constraint)",
    ),
    (
        "ignore-instructions",
        "(?:ignore|disregard|forget)(?:all|any)?(?:of)?(?:your|yoursystem|allyour)(?:instructions|rules|guidelines|programming|training)",
    ),
    (
        "ignore-instructions",
        "(?:ignore|disregard|forget)(?:everything|all|anything)(?:that)?(?:you(?:were|have|ve)(?:been)?(?:told|taught)|above(?:this|and)|(?:i|they)(?:told|said)youbefore)",
    ),
    (
        "new-role",
        "youarenow(?:an?|my|the|in)?(?:dan|evil|unrestricted|unfiltered|uncensored|unlimited|jailbroken|rogue|developermode|debugmode|godmode|adminmode|freefrom|notboundby|nolonger)",
    ),
    (
        "new-role",
        "(?:fromnowonyou(?:are|willbe|will|must|shall)(?:act|behave|answer|respond|pretend|an?unrestricted|dan)|(?:pretend|imagine|act)(?:to|that|as)?(?:be|if)?you(?:are|have|had)(?:no|not|without)(?:an?)?(?:restrictions|rules|limits|limitations|filters|guidelines|ai))",
    ),
    (
        "jailbreak",
        "doanythingnow|(?:enable|enter|activate|switchto)(?:developer|jailbreak|god|dan)mode|jailbreakprompt",
    ),
    (
        "reveal-prompt",
        "(?:reveal|print|show|repeat|output|display|tell|giveme|leak|dump|expose|whatis|whats|whatare|writeout)(?:me|us)?\
         (?:all|exactly|verbatim|back)?(?:of)?(?:the|your)(?:entire|full|whole|exact|complete|hidden|secret|initial|original|internal|own)?\
         (?:system(?:prompt|message|instructions)|hiddenprompt|initial(?:prompt|instructions)|hiddeninstructions|secretinstructions|promptabove|developermessage)",
    ),
    (
        "reveal-prompt",
        "(?:repeat|print|output)(?:everything|all|thetext|thewords)(?:ofthetext)?above",
    ),
    // Chinese
    (
        "ignore-instructions",
        "(?:忽略|无视|忘记|忘掉|不要理会|無視|忘記)(?:你|您)?(?:之前|以上|上面|先前|前面|所有|全部|一切|此前)+(?:的|所有|全部|给你)*(?:指令|指示|提示|规则|规定|命令|设定|要求|規則|設定)",
    ),
    ("new-role", "(?:你|您)现在(?:是|扮演)(?:一个|一名)?(?:不受|没有|无|dan|邪恶|越狱)"),
    (
        "reveal-prompt",
        "(?:输出|显示|告诉我|打印|透露|重复|泄露|说出|展示)(?:你|您)?(?:的|全部|完整|所有)*(?:系统提示|系统指令|初始指令|系统消息|隐藏指令|提示词)",
    ),
    // German; ß is never converted to ss, so both are there
    (
        "ignore-instructions",
        "(?:ignorier|vergiss|vergess|missacht|verwirf)(?:e|en|t)?(?:sie|bitte)?(?:alle|samtliche|die|deine|ihre)*(?:vorherigen|bisherigen|vorigen|obigen|fruheren|vorangegangenen|vorangehenden)(?:system)?(?:anweisung|instruktion|befehl|regel|vorgabe|prompts)",
    ),
    (
        "new-role",
        "dubistjetzt(?:ein|eine)?(?:dan|unbeschrankt|uneingeschrankt|unzensiert|bose|frei)",
    ),
    (
        "reveal-prompt",
        "(?:zeig|verrate|nenn|gib)(?:e|en)?(?:mir|sie|uns)*(?:deinen|deine|ihren|ihre|den|die)(?:kompletten|vollstandigen|geheimen|gesamten|versteckten)*(?:systemprompt|systemanweisung|systemnachricht|geheimenanweisung)",
    ),
    // French
    (
        "ignore-instructions",
        "(?:ignore|oublie|neglige)(?:z|r|s)?(?:toutes|tous|les|tes|vos|ces)*(?:instructions|consignes|directives|regles)(?:precedentes|anterieures|cidessus|initiales|systeme|dusysteme)",
    ),
    (
        "new-role",
        "(?:tues|vousetes)(?:desormais|maintenant)(?:un|une)?(?:ia|assistant)?(?:dan|sansrestriction|sanslimite|sansfiltre|sanscensure|libre)",
    ),
    (
        "reveal-prompt",
        "(?:revele|montre|affiche|donne|repete)(?:z|r)?(?:moi|nous)?(?:le|ton|votre|tes|vos|les)(?:promptsysteme|promptdusysteme|messagesysteme|instructionssysteme|instructionscachees|instructionssecretes|instructionsinitiales)",
    ),
    // Spanish
    (
        "ignore-instructions",
        "(?:ignora|olvida|descarta|omite|ignore|olvide)(?:r|d|n)?(?:todas|todos|las|los|tus|sus)*(?:instrucciones|indicaciones|reglas|directrices|ordenes)(?:anteriores|previas|iniciales|precedentes|delsistema)",
    ),
    (
        "new-role",
        "(?:ahoraeres|apartirdeahoraeres)(?:un|una)?(?:ia|asistente)?(?:dan|sinrestricciones|sinlimites|sinfiltros|libre)",
    ),
    (
        "reveal-prompt",
        "(?:revela|muestra|muestrame|dime|dame|repite|imprime)(?:me|nos)?(?:el|tu|su|tus|las)(?:promptdelsistema|mensajedelsistema|instruccionesdelsistema|instruccionesocultas|instruccionesiniciales|promptdesistema)",
    ),
];

/// Patterns over the text in lower case, with single spaces.
pub(super) const SPACED: &[(&str, &str)] = &[
    (
        "role-tag",
        r"<\|\s*(?:im_start|im_end|system|endoftext|start_header_id|eot_id|begin_of_text)\s*\|>",
    ),
    ("role-tag", r"<\s*/?\s*(?:system|sys)\s*>|<<\s*/?\s*sys\s*>>|\[\s*/?\s*(?:inst|system)\s*\]"),
    ("role-tag", r"(?:^|\n)\s*#{2,}\s*(?:system|new instructions?)\s*:"),
];
