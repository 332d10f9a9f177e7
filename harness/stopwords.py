"""Stop words by language: words that say nothing about what a text is about. Data, as they are written.

All lists are this program's own. Each was written by word class, from the grammar of its language: articles with their contracted
forms; personal, possessive, reflexive, demonstrative, relative and interrogative pronouns; words for all, every, some and none;
prepositions or postpositions and conjunctions; forms of be, have and the modal verbs; negations, and the few adverbs without
content of their own, as here, then, also, very, only and already. Elided forms stand as what is before the apostrophe.

A word with a common second meaning is left out where a search for that has to work, as French été (been, summer), Danish have
(have, garden) and Finnish voi (can, butter), or Arabic أمام (in front of), which the analyzer writes like إمام (imam).

The Persian endings are there because the analyzer parts words at the half-space before them. Yiddish words are written with
points, without, and with ligatures.

The analyzer `english` has a list of its own (Lucene's); the one here tells English from other languages.
"""

STOP_WORDS = {
    "arabic": """
        أثناء أصبح أصبحت أكون أما أن أنا أنت أنتم أنه أنها أنهم أو أولئك أي أيضا أين إذ إذا إذن إلا إلى إليك إلينا إليه إليها
        إليهم إما إن إنه إنها الآن التي الذي الذين بأن بدون بذلك بعد بعض بك بل بما بنا به بها بهذا بهذه بهم بين بينما تحت تصبح
        تكون تلك ثم جدا جميع حتى حول حيث حين حينما خلال خلف دون ذاك ذلك رغم سوف سوى ضد ضمن عبر على علينا عليه عليها عليهم عما عن
        عند عندما عنه عنها عنهم غير فقط فلا فهو فهي فوق في فيما فيه فيها فيهم قبل قد كأن كان كانت كانوا كذلك كل كلما كم كما كنا
        كنت كي كيف لأن لأنه لأنها لا لدى لديه لديها لديهم لذلك لقد لك لكم لكن لكنه لكنها لكي لم لما لماذا لن لنا له لها لهذا
        لهذه لهم لو لي ليس ليست ليسوا ما ماذا متى مع معه معها معهم مما ممن من منا منذ منه منها منهم نحن نكون هؤلاء هاتان هذا
        هذان هذه هذين هل هم هما هن هنا هناك هو هي و وأن وإلى وذلك وراء وعلى وعن وقد وكان وكانت ولا ولكن ولم وما ومع ومن وهذا
        وهذه وهو وهي يا يجب يصبح يكون يكونوا يمكن
    """,
    "armenian": """
        ամեն ամենը այդ այդպես այդպիսի այդտեղ այդքան այժմ այլ այն այնպես այնպիսի այնտեղ այնքան այս այսպես այսպիսի այստեղ այսքան
        ապա առանց առջև արդեն բայց բացի բոլոր բոլորը դա դեմ դեպի դեռ դու դուք դրա դրան դրանից դրանով դրանց դրանք եթե եղավ եղել եմ
        են ենք ես եվ երբ եք է էի էին էինք էիր էիք էլ էր ընդդեմ ըստ թե թեև իբրև իմ ինձ ինձնից ինչ ինչի ինչից ինչով ինչու ինչպես
        ինչպիսի ինչքան ինքը ինքն իսկ իր իրեն իրենց իրենք լինել լինեն լինի կա կամ կային կան կար կարող կլինի կողմից համար հետ հետո
        հիմա ձեզ ձեզնից ձեր մասին մեզ մեզնից մենք մեջ մեջից մեր մի միայն մինչև միջոցով միջև մոտ յուրաքանչյուր նա նաև նկատմամբ
        նույն նրա նրան նրանից նրանով նրանց նրանցից նրանք շատ շնորհիվ ոչ ոչինչ ով ովքեր որ որը որի որին որից որն որոնց որոնցից
        որոնցով որոնք որով որովհետև որում որպես որպեսզի որտեղ որտեղից որքան որևէ ու ում ունեին ունեմ ունեն ունենք ունես ուներ
        ունեք ունի ուստի ուր ոք չեմ չեն չենք չես չեք չէ չէի չէին չէր չի չկա չկան չունեն չունի պատճառով պես պետք պիտի սա սակայն
        սրա սրանց սրանք վրա վրայից տակ քանզի քանի քեզ քեզնից քո և
    """,
    "basque": """
        ahal al ala ari arren artean atzean aurka aurrean aurretik azpian bai baina baino baita baizik bakarrik baldin barruan
        bat batean batek baten bati batzuek batzuk bera berak berari beraz bere beren bezala bidez bitartean buruz da dago
        dagoen dagoeneko daiteke daitezke daude dauden dela den dena denak dezake dezakete die dio diogu diot diote dira direla
        diren ditu dituen ditugu ditut dituzte dituzten dituzu dituzue dizkio du duela duen dugu dut dute dutela duten duzu
        duzue edo edota edozein ere eta ez ezer ezta gabe gainean gara genuen gero geure ginen gu guk gure gurekin guretzat guri
        guzti guztiak guztiek guztien haiei haiek haiekin haien haietan hain hala han hara harekin haren hark hartan hau hauei
        hauek hauen hauetan hemen hi hik hire hona honek honekin honela honen honetan honi hor hori horiei horiek horien
        horietan horrek horrekin horrela horren horretan horri hura inor izan izango izateko izaten jada kontra litzateke luke
        lukete nahiz naiz neure ni nik nintzen nire niregan nirekin niretzat niri nituen noiz nola nolako non nondik nor nora
        noren nori nork nuen omen ondoren orain oraindik oro oso ote zaie zaigu zaio zait zaizkio zara zarete zegoen zehar zein
        zeinek zeintzuk zela zen zenbat zenuen zenuten zer zeren zergatik zeri zerk zertan zertarako zeuden zeure zien zinen
        zineten zion zioten zirela ziren zituen zituzten zu zuei zuek zuekin zuen zuk zure zurekin zuretzat zuten
    """,
    "catalan": """
        a abans així això al aleshores algun alguna algunes alguns allà allí allò als amb aquell aquella aquelles aquells aquest
        aquesta aquestes aquests aquí ara cada cal com contra d darrere davant de del dels des després dins doncs durant el ell
        ella elles ells els em en encara ens entre era eren eres es estan estar estava estaven estic està et ets fins fora ha
        hagi hagut han has hauria haver havia havien he hem heu hi ho i ja jo l la les li llavors lo los m mai malgrat mateix
        mateixa mateixes mateixos me mentre menys meu meus meva meves mi molt més n ne ni ningú no només nos nosaltres nostra
        nostre nostres o on pel pels per perquè però podem poden podria pot puc qual quals qualsevol quan quant que qui quin
        quina quines quins què res s se segons sense ser seran seria serien serà seva seves si sigui siguin sinó sobre soc som
        sota sóc són t també tampoc tan tant tenen tenia tenim teu teus teva teves tinc tot tota totes tots tu té un una unes
        uns us va vaig vam van vau vos vosaltres vostra vostre vostres vostè vostès és
    """,
    "czech": """
        a aby ale ani až bez bude budeme budou budu by bych byl byla byli bylo byly být během co což do ho i jak jako jaká jaké
        jaký je jeho jejich její jemu jen jestli ještě ji jich jim již jsem jsi jsme jsou jste já jí k kam každý kde kdo kdy
        kdyby když ke koho kolem kolik komu kromě kterou která které kterého kterém který kteří kým mají mezi mi mne mohou mohu
        moje moji mu musí musím my má mám mé mě měl můj může na nad naše naši ne nebo neboť nebyli není než nic nikdo nim nám
        nás náš ní něco něho něj nějaký někdo něm o od odkud on ona oni ono pak po pod podle pokud potom pouze pro proti protože
        proč před přes při s se sebe sebou si sobě svoje svého svém svým svůj sám ta tady tak taková takové takový taky také
        takže tam tato tebe tedy ten tento teď ti to tohoto tomu toto tou touto tu tuto té této tím tímto tě těch těchto u už v
        vaše ve velmi vám vás váš však všech všechno všechny všichni z za zda zde ze či čím že žádný
    """,
    "danish": """
        ad af al alle allerede alt altså at bag begge blandt blev blevet blive bliver burde både bør da de dem den denne dens
        der deraf deres derfor dermed dertil derved det dets dette dig din dine disse dit dog du efter ej eller en end endnu
        enten er et for foran fordi fra før gennem haft ham han hans har havde hende hendes her hos hun hvad hvem hver hverken
        hvert hvilke hvilken hvilket hvis hvor hvordan hvorfor hvori hvornår hvorpå i ikke imod ind inden indtil ingen intet jeg
        jer jeres jo kan kun kunne man med meget mellem men mens mig min mine mit mod må måtte nogen noget nogle nu når og også
        om omkring op os over på samt selv selvom siden sig sin sine sit skal skulle skønt som så sådan sådanne sådant til ud
        uden under var ved vi vil ville vor vore vores vort være været
    """,
    "dutch": """
        aan achter af al alle alleen alles als ben bent bij binnen buiten daar daaraan daarbij daardoor daarin daarmee daarna
        daarom daarop daarvan daarvoor dan dat de den der des deze die dit door doordat dus een elk elke en er eraan erbij
        erdoor erin ermee erop ervan ervoor geen gehad geweest geworden haar had hadden heb hebben hebt heeft hem hen het hier
        hierbij hierdoor hierin hiermee hierop hiervan hiervoor hij hoe hoewel hun ieder iedere ik in indien is je jij jou jouw
        jullie kan kon konden kunnen kunt langs maar mag me met mij mijn mocht mochten moest moesten moet moeten mogen na naar
        naast nadat niemand niet niets noch nog nu of om omdat onder ons onze ook op over per reeds sinds slechts te tegen ten
        ter terwijl tijdens toch toen tot totdat tussen u uit uw van vanaf vanuit volgens voor voordat waar waaraan waarbij
        waardoor waarin waarmee waarom waarop waarvan waarvoor wanneer want waren was wat we wegens welk welke werd werden wie
        wij wil wilde wilden willen wilt word worden wordt zal ze zeer zelf zich zichzelf zij zijn zo zodat zonder zou zouden
        zowel zullen zult
    """,
    "english": """
        a about above across after against all along already also although am among an and any are aren around as at be because
        been before behind being below between beyond both but by can could couldn d did didn do does doesn doing don down
        during each every for from had hadn has hasn have haven having he her here hers herself him himself his how i if in into
        is isn it its itself just ll m may me might must my myself neither no none nor not nothing of off on only onto or our
        ours ourselves out over re s shall she should shouldn since so some still such t than that the their theirs them
        themselves then there these they this those though through to too toward towards under unless until up upon us ve very
        was wasn we were weren what when where whereas whether which while who whom whose why will with within without would
        wouldn you your yours yourself yourselves
    """,
    "esperanto": """
        ajn al ankaŭ ankoraŭ anstataŭ antaŭ apud aŭ da de des devas devis devos devus do dum ekster el en estas esti estis estos
        estu estus eĉ havas havis havos havus ia iam ie iel ili ilia iliaj iliajn ilian ilin inter io iom ion iu iuj iujn iun ja
        jam jen ju kaj ke kia kiaj kiajn kial kiam kian kie kiel kien kies kio kiom kion kiu kiuj kiujn kiun kontraŭ krom kun
        kvankam kvazaŭ la laŭ li lia liaj liajn lian lin malgraŭ mem mi mia miaj miajn mian min ne nek neniam nenie nenio nenion
        neniu neniun ni nia niaj niajn nian nin nun nur ol oni per plej pli plu po por post povas povis povos povus pri pro se
        sed sen si sia siaj siajn sian sin sub super sur tia tiaj tiajn tial tiam tian tie tiel tien tio tiom tion tiu tiuj
        tiujn tiun tra trans tre vi via viaj viajn vian vin ĉar ĉe ĉi ĉiam ĉie ĉio ĉion ĉirkaŭ ĉiu ĉiuj ĉiujn ĉiun ĉu ĝi ĝia
        ĝiaj ĝiajn ĝian ĝin ĝis ŝi ŝia ŝiaj ŝiajn ŝian ŝin
    """,
    "estonian": """
        aga ainult all alla alt ees eest ega ehk ehkki ei end enda endale enne et ette iga ilma ise ja jaoks juba just juurde
        juures järgi ka kaudu keda kedagi keegi kelle kellega kellel kellele kellest kes koos kuhu kui kuid kuidas kuigi kuna
        kuni kus kust kõigi kõik kõiki läbi ma me meid meie meile meist mida midagi miks millal mille millega millel millele
        milles millest milline millise millised millist mina mind minu minuga minul minule minult mis miski mitte mitu mu mul
        mulle mõne mõned mõni mööda nad nagu need neid neil neile neilt neist nemad nende nendega nendes nii ning nüüd ole oled
        oleks oleksid olema oleme olen olete oleva oli olid olime olin olla olnud oma omad on peab peaks peal peale pean peavad
        pidi pole polnud poolt pärast sa samuti seal sealt seda see seega sees seest sel selle sellega selleks sellel sellele
        selles sellest selline sellise sellised sellist sest siia siin siis siit sina sind sinna sinu sinuga sinul sinule sisse
        su sulle ta tal talle te teda teid teil teile tema temaga temal temale tolle too tõttu vahel vaid vastu veel väga võib
        võiks võin võivad ära ärge ükski üle ümber
    """,
    "finnish": """
        alla alle asti ei eikä eivät eli emme en enkä ennen et etkä ette että he heidän heidät heihin heille heillä heiltä
        heissä heistä heitä hyvin hän häneen hänelle hänellä häneltä hänen hänessä hänestä hänet häntä ilman itse itselleen
        itsensä itseään ja jo johon joiden joihin joilla joille joilta joissa joista joita joka jokainen jokin joksi joku jolla
        jolle jolta jona jonka jonkin jonkun jos jossa josta jota joten jotka jotta kaiken kaikkea kaikki kanssa kautta kenelle
        kenellä kenen ketkä ketä kohti koska kuin kuinka kuka kumpi kun kunnes kuten lienee luona läpi me meidän meidät meihin
        meille meillä meiltä meissä meistä meitä mihin miksi mikä mille milloin millä miltä minkä minua minulla minulle minulta
        minun minussa minusta minut minuun minä missä mistä miten mitkä mitä mukaan mutta myös ne niiden niihin niille niillä
        niiltä niin niissä niistä niitä noiden noihin noilla noin noissa noista noita nuo nyt näiden näihin näille näillä näiltä
        näin näissä näistä näitä nämä ole olemme olen olet olette oleva oli olimme olin olisi olisin olisivat olit olitte olivat
        olla olleet ollut on ovat paitsi päällä saakka se sekä sen siellä sieltä siihen siinä siis siitä siksi sille silloin
        sillä siltä sinne sinua sinulla sinulle sinulta sinun sinussa sinusta sinut sinuun sinä sitten sitä tai te teidän teidät
        tuo tuohon tuolla tuolle tuolta tuon tuonne tuossa tuosta tuota tähän täksi tälle tällä tältä tämä tämän tänne tänä
        tässä tästä tätä täällä täältä vaan vai vaikka vain varten vastaan vielä yli ympäri älkää älä
    """,
    "french": """
        a afin ai aie aient aies ainsi ait alors après as au aucun aucune auquel aura aurai auraient aurais aurait auras aurez
        auriez aurions aurons auront aussi aux auxquelles auxquels avaient avais avait avant avec avez aviez avoir avons ayant
        ayez ayons c car ce ceci cela celle celles celui ces cet cette ceux chaque chez combien comme comment contre d dans de
        depuis derrière des desquelles desquels devant devez devons dois doit doivent donc dont du duquel durant dès déjà elle
        elles en encore entre envers es est et eu eurent eut eux faut furent fus fut fût hors ici il ils j je jusqu jusque l la
        laquelle le lequel les lesquelles lesquels leur leurs lorsqu lorsque lui là m ma mais malgré me mes mien mienne miennes
        miens moi moins mon même mêmes n ne ni non nos notre nous nôtre nôtres on ont ou où par parce parmi pas pendant peut
        peuvent peux plus pour pourquoi pourra pourraient pourrait pourront pouvez pouvons puis puisqu puisque qu quand que quel
        quelle quelles quelque quelques quels qui quoi quoiqu quoique rien s sa sans sauf se selon sera serai seraient serais
        serait seras serez seriez serions serons seront ses seulement si sien sienne siennes siens soi soient sois soit son sont
        sous soyez soyons suis sur t ta tandis te tel telle telles tels tes tien tienne toi ton tous tout toute toutes très tu
        un une vers vos votre vous vôtre vôtres y à ça étaient étais était étant étiez étions êtes être
    """,
    "german": """
        aber alle allem allen aller alles als also am an ans auch auf aufs aus außer bei beim bereits bevor bin bis bist da
        dabei dadurch dafür dagegen daher damit danach dann daran darauf daraus darf darfst darin darum darüber das dass
        dasselbe davon davor dazu daß dein deine deinem deinen deiner deines dem den denen denn der deren derselbe des dessen
        dich die dies diese dieselbe diesem diesen dieser dieses dir doch dort du durch durchs durfte durften dürfen dürft ein
        eine einem einen einer eines entweder er es euch euer eure eurem euren eurer eures falls für fürs gegen gehabt gewesen
        geworden habe haben habt hast hat hatte hatten hattest her hier hin hinter hätte hätten ich ihm ihn ihnen ihr ihre ihrem
        ihren ihrer ihres im in indem ins ist jede jedem jeden jeder jedes jene jenem jenen jener jenes jetzt kann kannst kein
        keine keinem keinen keiner keines konnte konnten können könnt könnte könnten man mein meine meinem meinen meiner meines
        mich mir mit muss musst musste mussten muß möchte möchten müssen müsst nach nachdem neben nicht nichts noch nun nur ob
        obwohl oder ohne schon sehr sei seid seien sein seine seinem seinen seiner seines seit selbst sich sie sind so sobald
        sodass solch solche solchen solcher solches soll sollen sollst sollte sollten sondern sowie sowohl statt trotz um ums
        und uns unser unsere unserem unseren unserer unseres unter vom von vor wann war waren warst wart warum was weder wegen
        weil welch welche welchem welchen welcher welches wem wen wenn wer werde werden werdet weshalb wessen wie wieso will
        willst wir wird wirst wo wodurch wofür woher wohin wollen wollte wollten womit woran worauf worden worin wozu wurde
        wurden während wäre wären würde würden zu zum zur zwischen über
    """,
    "greek": """
        ένα έναν ένας έξω έπειτα έπρεπε έτσι έχει έχεις έχετε έχουμε έχουν έχω έως ή ήδη ήμουν ήσουν ήταν ίδια ίδιο ίδιος ακόμα
        ακόμη αλλά αν αντί από ας αυτά αυτές αυτή αυτήν αυτής αυτοί αυτού αυτούς αυτό αυτόν αυτός αυτών αφού για γιατί δε δεν
        δηλαδή δικά δικοί δικό δικός διότι εάν είμαι είμαστε είναι είσαι είστε είτε είχα είχαμε είχαν είχε εγώ εδώ εκεί εκείνες
        εκείνη εκείνο εκείνοι εκείνος εκτός εμάς εμένα εμείς εντός ενός ενώ επί επίσης επειδή εσάς εσένα εσείς εσύ η θα κάθε
        κάποια κάποιες κάποιο κάποιοι κάποιος κάτι κάτω καθώς και καμία κανένα κανένας κανείς κατά κι λοιπόν μέχρι μία μας με
        μετά μεταξύ μη μην μια μιας μου μπορεί μπορείς μπορείτε μπορούμε μπορούν μπορώ μπροστά μόνο να ο οι οποία οποίες οποίο
        οποίοι οποίος οποίου οποίων ούτε πάνω πίσω παρά πιο ποια ποιο ποιοι ποιος πολύ που πού πρέπει πριν προς πως πόσα πόσο
        πότε πώς σαν σας σε σου στα στη στην στις στο στον στους τίποτα τα τη την της τι τις το τον του τους των τότε τώρα υπό
        χωρίς ως ωστόσο όλα όλες όλη όλο όλοι όλος όλους όμως όπου όπως όσα όσο όσοι όταν ότι όχι ώστε
    """,
    "hindi": """
        अंदर अगर अथवा अनुसार अपना अपनी अपने अब अभी आप आपका आपकी आपके आपको आपने आपसे इतना इतनी इतने इन इनका इनकी इनके इनको इन्हें
        इन्होंने इस इसका इसकी इसके इसको इसने इसमें इसलिए इससे इसे उन उनका उनकी उनके उनमें उनसे उन्हें उन्होंने उस उसका उसकी उसके
        उसको उसने उसमें उससे उसे ऊपर एवं ऐसा ऐसी ऐसे ओर और कब कहाँ का कि किंतु कितना कितनी कितने किस किसने किसी किसे की कुछ के
        केवल कैसे को कोई कौन क्या क्यों क्योंकि खुद गई गए गया चाहिए जब जबकि जहाँ जाता जाती जाते जिन जिनके जिन्हें जिस जिसका
        जिसकी जिसके जिसने जिसमें जिससे जिसे जैसा जैसी जैसे जो तक तथा तब तरफ ताकि तुम तुम्हारा तुम्हारी तुम्हारे तुम्हें तो था थी
        थीं थे दौरान द्वारा न नहीं ना नीचे ने पर परंतु पहले प्रत्येक फिर बल्कि बहुत बाद बारे बिना बीच भी मगर मुझसे मुझे में मेरा
        मेरी मेरे मैं मैंने यदि यह यहाँ या ये रहा रही रहे लिए लेकिन व वह वहाँ वे वो सकता सकती सकते सब सभी साथ सिर्फ से स्वयं हम
        हमने हमारा हमारी हमारे हमें हर ही हुआ हुई हुए हूँ है हैं हो होंगे होकर होगा होगी होता होती होते होना होने
    """,
    "hungarian": """
        a abban abból ahhoz ahogy ahol ahonnan ahova aki akik akiket akinek akit akkor akár alatt alá amely amelyben amelyek
        amelyeket amelyet amelynek amelyre amelyről ami amiben amik amikor aminek amit amíg annak arra arról attól az azok
        azokat azoknak azon azonban azt aztán azzal azért be belőle benne benned bennem benneteket bennünket csak de ebben ebből
        egy ehhez el ellen elé előtt engem ennek enyém erre erről ettől ez ezek ezeket ezeknek ezen ezt ezzel ezért fel felett
        felé föl fölött ha hanem helyett hiszen hogy hogyan hol honnan hova hová hozzá hozzád hozzám hány ide illetve ilyen
        innen iránt is itt kell kellett ki kik kinek kit köré körül közt közé között le legyen legyenek lehet lehetett lenne
        lenni lennének lesz leszek leszel lesznek leszünk maga magad magam magatok maguk magunk magát meg mellett mellé melyik
        mennyi mert mi miatt miben mikor milyen minden mindenki minek minket mint mire miről mit mivel miénk miért most már még
        mögé mögött nagyon ne neked nekem neki nekik nektek nekünk nem nincs nincsenek noha nélkül oda olyan onnan ott pedig
        rajta rajtad rajtam részére róla rólad rólam s se sem semmi senki sincs szerint számára te tehát ti titeket tiéd tiétek
        téged túl tőle tőled tőlem tőletek tőlük tőlünk után vagy vagyok vagytok vagyunk valamint van vannak vele veled velem
        veletek velük velünk viszont volna volnának volt voltak voltam voltatok voltunk voltál végett által át én és így óta övé
        övék úgy ő ők őket őt
    """,
    "indonesian": """
        ada adalah akan aku amat anda antara apa apabila apakah atas atau bagaimana bagi bahwa beberapa begini begitu beliau
        belum berapa bila bisa boleh bukan cuma dalam dan dapat dari daripada demi demikian dengan di dia dimana diri dirinya
        engkau hanya harus hingga ia ialah ini itu jadi jangan jika juga kalau kalian kami kamu kapan karena kau ke kecuali
        kemudian kenapa kepada ketika kini kita ku lagi lalu lebih maka mana masih maupun melainkan melalui mengapa mengenai
        menjadi menurut mereka merupakan meski meskipun mesti namun oleh pada paling para pula pun saja sambil sampai sana sang
        sangat saya sebab sebagai sebelum sebuah secara sedang sedangkan segala sehingga sejak sekali sekarang selain selama
        seluruh sementara semua sendiri seorang seperti serta seseorang sesuatu sesudah setelah setiap si siapa sini situ suatu
        sudah supaya tak tanpa tapi telah tentang terhadap tersebut tetapi tiada tiap tidak untuk walau walaupun yaitu yakni
        yang
    """,
    "irish": """
        a ach acu ag agaibh againn agam agat agus aici aige air amháin an ann anois anseo ansin aon ar as astu atá b ba beidh
        bheadh bheidh bheith bhfuil bhur bhí bhíodh bhíomar bhíonn bíonn cad cathain cheana chomh chucu chugainn chugam chugat
        chuici chuig chuige chun conas cá cár cé céard cén d daoibh de den di do dom don duit dá díobh díom díot dó dóibh dúinn
        ea eisean faoi faoin freisin féidir féin fós fúithi fúm fút fúthu gach gan go gur gurb gurbh i iad iadsan idir in inti
        ionam ionat iontu is ise le leat leis leo libh linn liom léi m mar mbeadh mbeidh mbíonn mise mo muid muidne mura má más
        mé na nach nuair ná nár nárbh ní níl nílim níor níorbh nó oraibh orainn orm ort orthu os raibh roimh roimhe rompu sa san
        seachas seisean seo siad siadsan sibh sibhse sin sinn sinne sise siúd sna sula sé sí thar thú tríd tusa tá táim táimid
        táthar tú uaidh uaim uainn uait uaithi uathu uile uirthi um ár é éigin í ó ón úd
    """,
    "italian": """
        a abbia abbiamo abbiano ad affinché agli ai al all alla alle allo allora anche ancora anzi avendo avere avete aveva
        avevamo avevano avevi avevo avrai avranno avrebbe avrebbero avremo avrete avrà avrò avuto benché c ce che chi ci ciò coi
        col colei coll coloro colui come con contro così cui d da dagli dai dal dall dalla dalle dallo degli dei del dell della
        delle dello dentro deve devi devo devono di dobbiamo dopo dove dovete dovrebbe dovrebbero dunque durante e ebbe ebbero
        ed egli ella entro era erano eravamo eravate eri ero essa esse essendo essere essi esso fino fosse fossero fra fu fui
        fummo furono già gli ha hai hanno ho i il in io l la le lei li lo loro lui là lì m ma me mediante meno mentre mi mia mie
        miei mio molto ne negli nei nel nell nella nelle nello nessun nessuna nessuno niente noi non nostra nostre nostri nostro
        nulla né o od ogni oltre oppure per perché però più poi poiché possiamo posso possono potete potrebbe potrebbero presso
        puoi può qua qual qualche quale quali quando quanta quante quanti quanto quegli quei quel quell quella quelle quelli
        quello quest questa queste questi questo qui quindi s sarai saranno sarebbe sarebbero sarei saremo sarete sarà sarò se
        sebbene senza si sia siamo siano siate siete solo soltanto sono sopra sotto stata state stessa stesse stessi stesso su
        sua sue sugli sui sul sull sulla sulle sullo suo suoi sé t tanto te ti tra tramite tu tua tue tuo tuoi tutta tutte tutti
        tutto un una uno v ve verso vi voi vostra vostre vostri vostro è
    """,
    "lithuanian": """
        ant apie aplink ar arba aš be bei bet bus buvau buvo buvome būna būti būtų dabar dar dėl esame esate esi esu gali galima
        galime galiu galėjo galėtų iki ir irgi iš jai jam jame jas jau jei jeigu ji jie jiems jis jo jog jokia joks jos jums juo
        juos jus ją jį jūs jūsų jų kad kada kadangi kai kaip kam kas kiek kiekviena kiekvienas kiekvieno kieno ko kodėl kokia
        kokie kokio kokios kokių koks kol kuo kur kuri kuriai kuriais kuriam kurie kurio kurios kuris kurią kurių kurį ką labai
        lyg man mane mano manęs mes mums mus mūsų ne nebuvo negali negu nei nes net niekas nieko nors nuo nė nėra o pagal pas
        paskui pat pati paties pats patys per po prie prieš pro reikia sau save savo savęs su ta tada tai taigi taip tam tame
        tarp tarsi tas tau tave tavo tavęs tačiau ten tie tik to todėl tokia tokie tokio tokios tokių toks tos tu tuo turi
        turime turiu turėjo turėtų tą tų už virš visa visas visi viso visos visus visų yra čia į ši šiai šiais šiam šiame šias
        šie šiems šio šios šis šiuo šiuos šią šių šį
    """,
    "nepali": """
        अघि अझ अझै अनि अनुसार अब अहिले आफू आफूले आफै आफैं आफ्ना आफ्नी आफ्नो उ उनका उनकी उनको उनलाई उनले उनी उनीहरु उनीहरू उसको
        उसलाई उसले उहाँ उहाँको उहाँलाई उहाँले ऊ एउटा एक एवं कति कसको कसरी कसलाई कसले कस्तो कहाँ कहिले का कि किन किनभने की कुन
        कुनै के केही को कोही छ छन् छु छैन छैनन् छौ छौं जब जस जसका जसको जसमा जसरी जसलाई जसले जस्तै जस्तो जहाँ जुन जे जो त तँ तथा
        तपाईँ तपाईं तपाईंको तपाईंलाई तपाईंले तब तर तापनि तिनले तिनी तिनीहरु तिनीहरू तिमी तिमीलाई तिमीले तिम्रा तिम्रो तिर ती
        त्यस त्यसका त्यसको त्यसबाट त्यसमा त्यसरी त्यसलाई त्यसले त्यसैले त्यस्ता त्यस्तो त्यहाँ त्यो थिइन् थिए थिएँ थिएन थियो
        देखि द्वारा धेरै न निकै नै पछि पनि पर्छ पर्ने प्रत्येक फेरि बाट बारे बारेमा बाहिर बिना बीच बीचमा भई भए भएका भएको भएर भनी
        भने भन्दा भयो भित्र म मलाई मा मात्र मात्रै माथि मेरा मेरी मेरो मैले यदि यद्यपि यस यसका यसको यसबाट यसमा यसरी यसलाई यसले
        यस्ता यस्तो यहाँ या यिनी यी यो र रहेका रहेको लाई लागि ले वा विना सँग संग सकिन्छ सक्छ सक्छन् सबै सम्म सित हरु हरू हरेक
        हामी हामीलाई हामीले हाम्रा हाम्री हाम्रो हुँ हुँदैन हुन हुनु हुने हुन् हुन्छ हुन्छन् हो होइन होइनन् हौं
    """,
    "norwegian": """
        all alle allerede allereie alt at av bak bare begge berre blant ble blei bli blir blitt burde både bør da de deg dei
        deira dem den denne dens der derav dere deres derfor dermed dersom dertil desse det dets dette di din dine disse dit
        ditt du dykk dykkar då eg ei ein eit eller en enn enno ennå enten er et etter for foran fordi fra frå før gjennom ha
        hadde ham han hans har hatt hennar henne hennes her hit ho hos hun hva hvem hver hvert hvilke hvilken hvilket hvis hvor
        hvordan hvorfor i ikke ikkje imot ingen inkje innen inntil intet jeg jo kan kor korleis kun kunne kva kvar kvart kven
        kvifor man med medan meg mellom men mens mi min mine mitt mot må måtte no noe noen noko nokon nokre nå når og også om
        omkring opp oss over på samt seg selv sidan siden sin sine sitt sjølv skal skjønt skulle slik slike slikt som svært så
        til under ut utan uten var vart ved vere verken vi vil ville vore vår våre vårt være vært òg
    """,
    "persian": """
        آن آنان آنجا آنها آنچه آنکه آیا ات از است الان ام اما اند او اکنون اگر اگرچه ای اید ایشان ایم این اینجا اینها اینکه با
        باشد باشم باشند باشی باشید باشیم باید بتواند بتوانند بتوانید بدون بر برای برخی بسیار بعضی بلکه بنابراین به بود بودم بودن
        بودند بوده بودی بودید بودیم بی بیش بیشتر بین تا تان تر ترین تمام تمامی تو تواند توانست توانم توانند توانید توانیم توسط
        جز حالا حتی خواهد خواهم خواهند خواهید خواهیم خود خودت خودتان خودش خودشان خودم خودمان خیلی دارد دارم دارند داری دارید
        داریم داشت داشتم داشتن داشتند داشته در درباره دیگر را زیر زیرا سوی سپس شان شاید شد شدم شدن شدند شده شما شود شوند طبق طی
        علیه غیر فقط ما مان مانند مثل مرا من می میان نباشد نباید نبود ندارد ندارند نزد نشد نشده نشود نمی نه نیز نیست نیستند ها
        های هایت هایتان هایش هایشان هایم هایمان هایی هر هرچند هرگز هست هستم هستند هستی هستید هستیم هم همان همه همچنین همچون همین
        هنوز هیچ و وقتی ولی وی پس پیش چرا چطور چقدر چنان چنانچه چند چندین چنین چه چون چگونه چیست کجا کدام کسی کنار که کی گرچه یا
        یعنی یک یکی
    """,
    "polish": """
        a aby albo ale ani bardzo bez bo by byli być był była było były będzie będą będę chociaż choć ci ciebie cię co coś czego
        czy czym dla dlaczego do gdy gdyż gdzie go i ich ile im ja jak jaka jaki jakie jakiś jako je jednak jego jej jemu jest
        jestem jesteś jeszcze jeśli jeżeli już ją każda każdy kiedy kim kogo komu kto ktoś która które którego której któremu
        który których którzy którą ku lecz lub ma mają mam masz mi miał mimo między mnie mogą mogę moja moje mojego mojej może
        możemy możesz można mu musi my mój na nad nam nami nas nasz nasza nic nich nie niego niej nikt niż o obok od on ona one
        oni ono oprócz oraz po pod podczas ponieważ potem powinien przeciw przed przez przy również sam sama sami samo siebie
        się skąd sobie swoja swoje swojego swojej swoją swój są ta tak taka taki takie także tam te tego tej temu ten teraz też
        to tobie tu tutaj twoja twoje twój ty tych tylko tym tymi tą tę u w wam wami was we według więc wszyscy wszystkie
        wszystko wtedy wy z za zatem ze żaden że żeby
    """,
    "portuguese": """
        a ainda algum alguma algumas alguns ali ante ao aos apenas após aquela aquelas aquele aqueles aqui aquilo as assim até
        aí cada com comigo como connosco conosco consigo contigo contra contudo cuja cujas cujo cujos cá da daquela daquelas
        daquele daqueles daquilo das de dela delas dele deles desde dessa dessas desse desses desta destas deste destes deve
        devem deveria deveriam disso disto do dos dum duma durante e ela elas ele eles em embora enquanto entre então era eram
        eras essa essas esse esses esta estamos estar estas estava estavam este esteja estejam estes esteve estiveram estou está
        estás estão eu foi fomos foram fosse fossem fui haja hajam havendo haver havia haviam houve há isso isto já la las lhe
        lhes lo los lá mais mas me menos mesma mesmas mesmo mesmos meu meus mim minha minhas muito na nada naquela naquele nas
        nela nelas nele neles nem nenhum nenhuma nessa nessas nesse nesses nesta nestas neste nestes ninguém nisso nisto no nos
        nossa nossas nosso nossos num numa numas nuns não nós o onde os ou para pela pelas pelo pelos perante pode podem podemos
        poderia poderiam podia pois por porque porquê portanto porém posso pôde quais qual quando quanta quantas quanto quantos
        que quem quê se seja sejam sem sendo ser seria seriam será serão seu seus si sido sob sobre somente somos sou sua suas
        são só também te tem temos tendo tenha tenham tenho tens ter teria teriam terá terão teu teus teve ti tido tinha tinham
        tiveram tivesse toda todas todavia todo todos tu tua tuas tudo tão têm um uma umas uns você vocês vos vossa vossas vosso
        vossos vós à às é éramos és
    """,
    "romanian": """
        a acea aceasta această acei acel acele acelei acelor acelui acest acesta aceste acestea acestei acestor acestui acești
        aceștia acolo acum ai aibă aici al ale am apoi ar are asta astfel asupra atunci au avea aveau avut aș așa ați ca care ce
        cea cei cel cele celei celor celui ceva ci cine cineva cu cui cum când cât câte câtă câți că căci către dacă dar de deci
        decât deja deoarece despre deși din dintre doar după e ea ei el ele era este eu ești fi fie fiecare fiind foarte fost
        fără i iar l la le li lor lui lângă m mea mei mele meu mi mie mă n ne ni nici nicio niciun nimeni nimic niște noastre
        noastră nostru noștri nu numai o ori oricare orice pe pentru peste poate poată pot poți precum prin printre putea putem
        puteți până s sa sale sau se sine spre sub sunt să săi său ta tale te toate toată tot toți trebuie tu tuturor tăi tău un
        unde unei unele unor unui v va vei voastre voastră voi vor vostru vouă voștri vă îi îl îmi în înainte încât încă însă
        într între își îți și ți
    """,
    "russian": """
        а б без будем будет будете будешь буду будут будучи бы был была были было быть в вам вами вас ваш ваша ваше вашего вашей
        вашем вашему ваши вашим ваших вашу ведь весь вместо во вот все всего всей всем всему всех всю вся всё вы где да даже для
        до должен должна должно должны его ее ей ему если есть еще ещё ею её ж же за зато зачем здесь и из изо или им ими их к
        каждая каждого каждое каждой каждый как какая какие каких какое какой кем ко когда кого ком кому которая которого
        которое которой котором которому которую которые который которым которыми которых кроме кто куда ли либо лишь ль между
        меня мне мной мною мог могла могли могло могу могут мое моего моей моем моему можем может можете можешь можно мои моим
        моих мой мою моя моё моём мы на над надо нам нами нас наш наша наше нашего нашей нашем нашему наши нашим наших нашу не
        него нее ней нем нему нет неё ни ним ними них но нём о об обо около он она они оно от откуда ото очень перед по под пока
        после потом потому почему поэтому при про против ради с сам сама сами само свое своего своей своем своему свои своим
        своими своих свой свою своя своё своём себе себя сейчас сколько со собой среди сюда та так такая также такие таких
        такого такое такой там твое твоего твоей твои твоих твой твою твоя твоё те тебе тебя тем теми теперь тех то тобой тогда
        того тоже той только том тому тот ту туда тут ты у уже хотя чего чей чем чему через что чтобы чьи чья чьё чём эта эти
        этим этими этих это этого этой этом этому этот эту я
    """,
    "serbian": """
        a ako ali bez bi bih bila bili bilo bio bude budu da dakle do dok ga gde i iako ih ili im ima imaju imala imam imamo
        imao iz iza između ja je jer jesu joj još k ka kad kada kakav kako kao ko koga koja koje koji kojih kojima kojoj kojom
        koju koliko kome kroz kuda mada me meni mi mogao mogu moj moja moje može možemo mu na nad nakon nam nama nas naš naša ne
        nego neka neki neko nema neće nešto ni nije niko nisam nisu niti ništa nje njega njegov njegova njemu njen njena njih
        njihov njihova njim njima nju no o od on ona onaj onda one oni ono osim ova ovaj ovde ove ovi ovo ovom pa po pored posle
        pošto pre preko prema pri protiv s sa sada sam samo sav se sebe sebi si smo ste su sva svaki sve svi svih svoj svoja
        svoje ta tada taj takav tako takođe takva tamo ti tih to tog toj tokom treba tu tvoj tvoja tvoje u uz vam vama van vas
        vaš vaša veoma već vi vrlo za zato zašto zbog će ćemo ćeš ću čija čiji čim šta što
    """,
    "sesotho": """
        a ana ane ao athe ba bafe bang bano bao be bile bileng bo bohle bomang di dife e ea eane eba eena efe eka eloa elwa empa
        ena eng enoa enwa eo eona eseng feela ha hae haeba haholo hao hape hara ho hoba hobane hobaneng hodima hodimo hohle
        holima hona hoo hore ile itse joale joalo joaloka joalokaha joang jwale jwalo jwaloka jwalokaha jwang ka kae kahare
        kahoo kaofela kapa ke kile koo kwana la lane le leha lena leng leo li life lo lohle lona mane mang me mme mo mona moo na
        nang ne neng nna ntse o oa ofe ohle oona re rona sa sane sang se sefe sena seo sohle sona teng tla tlasa tlo tloha tsa
        tsane tse tsena tseng tseo tsohle tsona uena wa wena wona ya yane yang yena yona
    """,
    "spanish": """
        a adonde ahí al algo alguien alguna algunas alguno algunos algún allá allí ante aquel aquella aquellas aquello aquellos
        aquí así aunque aún cada como con conmigo consigo contigo contra cual cuales cuando cuanta cuantas cuanto cuantos cuya
        cuyas cuyo cuyos cuál cuáles cuándo cuánta cuántas cuánto cuántos cómo de debe deben debería deberían debo del desde
        donde durante dónde e el ella ellas ello ellos en entonces entre era eran eras eres es esa esas ese eso esos esta estaba
        estaban estabas estamos estar estará estarán estas este esto estos estoy estuvieron estuvo está estábamos estáis están
        estás esté estén fue fuera fueran fueron fuese fuesen fui fuimos fuiste ha haber habido habiendo habrá habrán habría
        habrían habéis había habían hacia han has hasta hay haya hayan he hemos hubiera hubieran hubo la las le les lo los me
        mediante menos mi mientras mis misma mismas mismo mismos muy más mí mía mías mío míos nada nadie ni ninguna ninguno
        ningún no nos nosotras nosotros nuestra nuestras nuestro nuestros o os para pero podemos podría podrían podía por porque
        puede pueden puedes puedo pues que quien quienes quién quiénes qué se sea seamos sean seas según ser seremos será serán
        seré sería serían si sido siendo sin sino sobre sois solamente solo somos son soy su sus suya suyas suyo suyos sí sólo
        también tampoco tan tanto te tendrá tendrán tenemos tener tenga tengan tengo tenéis tenía tenían ti tiene tienen tienes
        toda todas todavía todo todos tras tu tus tuvieron tuvo tuya tuyas tuyo tuyos tú u un una unas unos usted ustedes
        vosotras vosotros vuestra vuestras vuestro vuestros y ya yo él éramos ésa ésas ése ésos ésta éstas éste éstos
    """,
    "swedish": """
        all alla allt antingen att av bakom bara bland blev bli blir blivit borde båda både bör de dem den denna denne deras
        dess dessa det detta dig din dina dit ditt dock du där därav därför därmed därtill då efter eftersom ej eller en endast
        enligt er era ert ett fastän framför från för före genom ha hade haft han hans har henne hennes hit hon honom hos hur
        här i icke ifall igenom in inför inga ingen inget innan inom inte jag ju kan kring kunde kunna med medan mellan men mig
        min mina mitt mot mycket måste ni nu när någon något några och också om oss på redan samt sedan sig sin sina sitt själv
        själva självt ska skall skulle som så sådan sådana sådant såsom till trots under ur ut utan utanför utom vad var varför
        varifrån varit varje varken vars vart vem vi vid vilka vilken vilket vill ville vore vår våra vårt än ännu är även åt
        över
    """,
    "tamil": """
        அங்கு அங்கே அதனால் அதன் அதற்கு அதில் அது அதை அத்தகைய அந்த அனைத்து அனைத்தும் அப்படி அப்போது அல்ல அல்லது அவனுக்கு அவனை
        அவன் அவரது அவருக்கு அவருடைய அவரை அவர் அவர்களின் அவர்களுக்கு அவர்களை அவர்கள் அவளுக்கு அவளை அவள் அவை ஆகவே ஆகிய ஆகும் ஆன
        ஆனாலும் ஆனால் இங்கு இங்கே இடையே இதனால் இதன் இதற்கு இதில் இது இதை இத்தகைய இந்த இன்னும் இப்படி இப்போது இருக்க இருக்கிறது
        இருக்கிறார் இருக்கும் இருந்தது இருந்தன இருந்தார் இருந்து இல்லாத இல்லாமல் இல்லை இவர் இவர்கள் இவை உங்களுக்கு உங்களை உங்கள்
        உடன் உனக்கு உன் உன்னை உள்ள உள்ளது உள்ளன உள்ளார் உள்ளே எங்களுக்கு எங்கள் எங்கு எங்கே எது எதுவும் எதை எத்தனை எந்த என
        எனக்கு எனது எனவே எனும் என் என்ன என்னுடைய என்னும் என்னை என்பது என்ற என்றால் என்று எப்படி எப்போது எல்லா எல்லாம் எவ்வளவு
        ஏனெனில் ஏன் ஏற்கனவே ஒரு ஒவ்வொரு ஓர் கீழ் குறித்து கூட கூடாது கூடும் சில தங்கள் தனது தன் தன்னை தவிர தான் நமக்கு நமது நம்
        நாங்கள் நான் நாம் நீ நீங்கள் பற்றி பல பின் பின்னர் பிறகு போன்ற போல மட்டும் மற்றும் மிக மிகவும் மீது முடியாது முடியும்
        முன் முன்பு மூலம் மேல் யாரும் யார் வரை விட வெளியே வேண்டாம் வேண்டும்
    """,
    "turkish": """
        altında ama ancak arasında artık bana bazı ben bende benden beni benim benimle beri bile bir biz bizde bizden bize bizi
        bizim bizimle bu buna bunda bundan bunlar bunlara bunları bunların bunu bunun bununla burada buradan buraya böyle bütün
        da daha dahi dair de dek değil değildir diye dolayı dışında en eğer fakat gibi göre hakkında hangi hangisi hem henüz hep
        her hiç hiçbir idi idim iken ile imiş ise için içinde kadar karşı kaç kendi kendileri kendim kendin kendine kendini
        kendisi kendisine kendisini ki kim kimden kime kimi kimin kimse lakin mi midir mu mü mı mıdır nasıl ne neden nerede
        nereden nereye neye neyi niye niçin o olacak olan olarak oldu olduğu olduğunu olmak olması olmayan olsa olsun olup olur
        ona onda ondan onlar onlara onlarda onlardan onları onların onu onun onunla orada oradan oraya oysa rağmen sadece sana
        sen sende senden seni senin seninle siz sizde sizden size sizi sizin sizinle sonra tarafından var vardır ve veya veyahut
        ya yahut yalnızca yine yok yoktur zaten çok çünkü önce öyle üzere üzerinde şimdi şu şuna şunda şundan şunlar şunu şunun
        şurada şöyle
    """,
    "yiddish": """
        א אַ אַז אַזאַ אַזוי אַזױ אַלע אַלץ אַן אָבער אָדער אָן אבער אדער אויב אויך אויף אויפֿן אויפן און אונדז אונדזער אונטער
        אז אזא אזוי איבער איז אייַך אייַער אייך אייער איך אים אין איצט איר אירע אלע אלץ אן אױב אױך אױף אױפֿן אײַך אײַער ביז ביי
        בייַ בייַם ביים בין ביסט בלויז בלױז בײַ בײַם גאָרנישט גארנישט געהאַט געהאט געוואָרן געווארן געווען געװאָרן געװען דא דאָ
        דאָס דאָרט דאָרטן דאס דארט דארטן דו דורך די דייַן דיין דיך דיר דעם דעמאָלט דעמאלט דער דײַן האָב האָבן האָט האָסט האב
        האבן האט האסט וואָלט וואָס וואלט וואס ווו וווּ ווי ווייַל ווייל וועגן וועט וועל וועלכע וועלכער וועלן וועמען ווען ווער
        זאָל זאָלן זאל זאלן זי זיי זייַן זייַנען זיין זיינען זייער זיך זינט זענען זײ זײַן זײַנען זײער יעדן יעדע יעדער יענע יענער
        כּדי כאָטש כאטש כדי לויט לױט מוז מוזן מיט מייַן מיין מיך מיר מען מײַן נאָך נאָר נאך נאר ניט נישט עס עפּעס עפעס ער פֿאַר
        פֿאַרוואָס פֿאַרן פֿאַרװאָס פֿון פֿונעם פאר פארוואס פארן פון פונעם צו צווישן צום צי צװישן קיין קיינער קעגן קען קענען קײן
        קײנער שוין שױן װאָלט װאָס װוּ װי װעגן װעט װעל װעלכע װעלכער װעלן װעמען װען װער װײַל
    """,
}
